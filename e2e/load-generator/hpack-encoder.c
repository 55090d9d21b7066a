// Encodes the header blocks of requests (RFC 7541, section 6). It does not search its table: it
// knows of each field of the request when that was inserted.
#include "hpack-encoder.h"

#include <string.h>

#include "fail.h"
#include "hpack-tables.h"
#include "huffman.h"

// Size of the table that HTTP/2 begins with; Envoy uses no larger one.
#define TABLE_DEFAULT 4096

// Size of a field in the table in addition to its text (RFC 7541, section 4.1).
#define FIELD_OVERHEAD 32

// Fields in the table at most; the smallest is FIELD_OVERHEAD large.
#define TABLE_FIELDS_MAX (TABLE_DEFAULT / FIELD_OVERHEAD)

void encoder_prepare(HpackEncoder *encoder) {
    memset(encoder, 0, sizeof *encoder);
    encoder->table_max = TABLE_DEFAULT;
    encoder->sizes = allocate(TABLE_FIELDS_MAX * sizeof *encoder->sizes);
}

void encoder_add_field(HpackEncoder *encoder, const char *name, const char *value, bool changes) {
    if (encoder->count == REQUEST_FIELDS_MAX) fail("a request has more than %d header fields", REQUEST_FIELDS_MAX);
    if (strlen(value) >= VALUE_MAX) fail("the value of %s is longer than %d bytes", name, VALUE_MAX - 1);
    RequestField *field = &encoder->fields[encoder->count++];
    field->name = name;
    strcpy(field->value, value);
    field->changes = changes;
    for (unsigned index = STATIC_FIELDS; index >= 1; index--) {
        if (strcmp(static_fields[index - 1].name, name) != 0) continue;
        field->static_name = index;
        if (strcmp(static_fields[index - 1].value, value) == 0) field->static_index = index;
    }
}

void encoder_set_table_max(HpackEncoder *encoder, unsigned table_max) {
    unsigned wanted = table_max < TABLE_DEFAULT ? table_max : TABLE_DEFAULT;
    if (wanted == encoder->table_max) return;
    encoder->table_max = wanted;
    encoder->table_changed = true;
    encoder->same_length = 0;
}

// An integer with a prefix of `bits` bits, whose other bits are `flags` (section 5.1).
static size_t write_integer(uint8_t *out, unsigned flags, unsigned bits, size_t value) {
    size_t limit = (1u << bits) - 1;
    if (value < limit) {
        out[0] = (uint8_t)(flags | value);
        return 1;
    }
    out[0] = (uint8_t)(flags | limit);
    size_t written = 1;
    for (value -= limit; value >= 128; value >>= 7) out[written++] = (uint8_t)(value | 128);
    out[written++] = (uint8_t)value;
    return written;
}

// A string, Huffman encoded where that is shorter (section 5.2).
static size_t write_string(uint8_t *out, const char *text) {
    size_t length = strlen(text);
    size_t encoded = huffman_encoded_length(text, length);
    if (encoded >= length) {
        size_t prefix = write_integer(out, 0, 7, length);
        memcpy(out + prefix, text, length);
        return prefix + length;
    }
    size_t prefix = write_integer(out, 0x80, 7, encoded);
    return prefix + huffman_encode(out + prefix, text, length);
}

static void evict_until(HpackEncoder *encoder, unsigned size) {
    while (encoder->table_size > size)
        encoder->table_size -= encoder->sizes[encoder->oldest++ % TABLE_FIELDS_MAX];
}

static void insert(HpackEncoder *encoder, RequestField *field) {
    unsigned size = (unsigned)(strlen(field->name) + strlen(field->value) + FIELD_OVERHEAD);
    if (size > encoder->table_max) {
        evict_until(encoder, 0);
        return;
    }
    evict_until(encoder, encoder->table_max - size);
    encoder->sizes[encoder->insertions++ % TABLE_FIELDS_MAX] = (uint16_t)size;
    encoder->table_size += size;
    field->inserted = encoder->insertions;
}

// Index of the field or its name in the dynamic table; 0 when it is not there (any more).
static unsigned dynamic_index(const HpackEncoder *encoder, const RequestField *field) {
    if (field->inserted <= encoder->oldest) return 0;
    return (unsigned)(STATIC_FIELDS + 1 + encoder->insertions - field->inserted);
}

static size_t write_field(HpackEncoder *encoder, RequestField *field, uint8_t *out, bool *only_indexes) {
    unsigned known = dynamic_index(encoder, field);
    unsigned whole = field->static_index > 0 ? field->static_index : field->changes ? 0 : known;
    if (whole > 0) return write_integer(out, 0x80, 7, whole);
    *only_indexes = false;
    unsigned name = field->static_name > 0 ? field->static_name : known;
    size_t written = write_integer(out, 0x40, 6, name);
    if (name == 0) written += write_string(out + written, field->name);
    written += write_string(out + written, field->value);
    insert(encoder, field);
    return written;
}

size_t encoder_write(HpackEncoder *encoder, uint8_t *out) {
    if (encoder->same_length > 0) {
        memcpy(out, encoder->same, encoder->same_length);
        return encoder->same_length;
    }
    size_t written = 0;
    bool only_indexes = true;
    if (encoder->table_changed) {
        written += write_integer(out, 0x20, 5, encoder->table_max);
        evict_until(encoder, encoder->table_max);
        encoder->table_changed = false;
        only_indexes = false;
    }
    for (unsigned at = 0; at < encoder->count; at++)
        written += write_field(encoder, &encoder->fields[at], out + written, &only_indexes);
    if (only_indexes && written <= sizeof encoder->same) {
        memcpy(encoder->same, out, written);
        encoder->same_length = (unsigned)written;
    }
    return written;
}
