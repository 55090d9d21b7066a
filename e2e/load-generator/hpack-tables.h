// The constants of header compression (RFC 7541).
#ifndef HPACK_TABLES_H
#define HPACK_TABLES_H

// All bytes and the end of a string.
#define HUFFMAN_SYMBOLS 257

// Fields of the static table, which have the indexes 1 to 61.
#define STATIC_FIELDS 61

typedef struct {
    const char *name;
    const char *value;
} StaticField;

extern const unsigned char huffman_lengths[HUFFMAN_SYMBOLS];
extern const StaticField static_fields[STATIC_FIELDS];

#endif
