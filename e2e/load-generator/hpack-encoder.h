// Encodes the header blocks of requests as Envoy does: a field is put into the dynamic table when it
// is first sent, and is one byte from then on until newer fields push it out.
#ifndef HPACK_ENCODER_H
#define HPACK_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fields of one request at most.
#define REQUEST_FIELDS_MAX 16

// Longest value.
#define VALUE_MAX 96

typedef struct {
    const char *name;
    char value[VALUE_MAX];
    // Index of the whole field in the static table; 0 if it is not there.
    unsigned static_index;
    // Index of a field with this name in the static table; 0 if none has it.
    unsigned static_name;
    // The value is new in every request.
    bool changes;
    // Number of the insertion that put it into the dynamic table; 0 for none.
    uint64_t inserted;
} RequestField;

typedef struct {
    RequestField fields[REQUEST_FIELDS_MAX];
    unsigned count;
    // The smaller of the server's setting and of Envoy's maximum.
    unsigned table_max;
    // The server made its table smaller: the next block says so.
    bool table_changed;
    uint64_t insertions;
    // Sizes of the fields in the table, the newest last, from `oldest` + 1 to `insertions`.
    uint16_t *sizes;
    uint64_t oldest;
    unsigned table_size;
    // The last block, when it had nothing but indexes and so stays the same.
    uint8_t same[REQUEST_FIELDS_MAX * 2];
    unsigned same_length;
} HpackEncoder;

void encoder_prepare(HpackEncoder *encoder);

// Adds a field to every request, in the order of the calls.
void encoder_add_field(HpackEncoder *encoder, const char *name, const char *value, bool changes);

// Takes the table size of the server's settings.
void encoder_set_table_max(HpackEncoder *encoder, unsigned table_max);

// Writes the header block of a request; `out` has room for ENCODED_MAX bytes.
#define ENCODED_MAX 2048
size_t encoder_write(HpackEncoder *encoder, uint8_t *out);

#endif
