// Decodes the header blocks of answers as far as needed to know how a call ended.
#ifndef HPACK_DECODER_H
#define HPACK_DECODER_H

#include <stddef.h>
#include <stdint.h>

// A block says nothing about it.
#define NO_STATUS (-1)

// Blocks that are remembered, and the longest of them.
#define KNOWN_BLOCKS 8
#define KNOWN_BLOCK_MAX 64

// The meaning of a header block.
typedef struct {
    int http_status;
    int grpc_status;
    // grpc-message, for errors.
    char message[128];
} BlockMeaning;

typedef struct {
    char *name;
    char *value;
    unsigned size;
} TableField;

typedef struct {
    uint8_t bytes[KNOWN_BLOCK_MAX];
    size_t length;
    BlockMeaning meaning;
} KnownBlock;

typedef struct {
    // The dynamic table, newest field first.
    TableField *table;
    unsigned count;
    unsigned size;
    unsigned max;
    // Number of changes of the table.
    uint64_t changes;
    // Blocks decoded since it last did: equal bytes mean the same.
    KnownBlock known[KNOWN_BLOCKS];
    unsigned known_count;
    // The meaning of the last decoded block.
    BlockMeaning last;
} HpackDecoder;

void decoder_prepare(HpackDecoder *decoder);

// Decodes a block. Ends the program when it is invalid.
const BlockMeaning *decoder_read(HpackDecoder *decoder, const uint8_t *block, size_t length);

#endif
