// Decodes the header blocks of answers (RFC 7541, section 6).
#include "hpack-decoder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "hpack-tables.h"
#include "huffman.h"

#define TABLE_DEFAULT 4096
#define FIELD_OVERHEAD 32
#define TABLE_FIELDS_MAX (TABLE_DEFAULT / FIELD_OVERHEAD)

// Longest string of an answer.
#define STRING_MAX 1024

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} Input;

void decoder_prepare(HpackDecoder *decoder) {
    memset(decoder, 0, sizeof *decoder);
    decoder->table = allocate(TABLE_FIELDS_MAX * sizeof *decoder->table);
    decoder->max = TABLE_DEFAULT;
}

static size_t read_integer(Input *input, unsigned bits) {
    size_t limit = (1u << bits) - 1;
    size_t value = *input->at++ & limit;
    if (value < limit) return value;
    for (unsigned shift = 0; input->at < input->end && shift < 28; shift += 7) {
        uint8_t byte = *input->at++;
        value += (size_t)(byte & 127) << shift;
        if ((byte & 128) == 0) return value;
    }
    fail("the server sent an invalid integer in a header block");
}

static void read_string(Input *input, char *out) {
    if (input->at >= input->end) fail("the server sent an incomplete header block");
    bool is_huffman = (*input->at & 0x80) != 0;
    size_t length = read_integer(input, 7);
    if (length > (size_t)(input->end - input->at)) fail("the server sent an incomplete header block");
    int decoded = -1;
    if (is_huffman) decoded = huffman_decode(out, STRING_MAX - 1, input->at, length);
    else if (length < STRING_MAX) {
        memcpy(out, input->at, length);
        decoded = (int)length;
    }
    if (decoded < 0) fail("the server sent an invalid or too long header string");
    out[decoded] = '\0';
    input->at += length;
}

static void evict_until(HpackDecoder *decoder, unsigned size) {
    while (decoder->size > size) {
        TableField *last = &decoder->table[--decoder->count];
        decoder->size -= last->size;
        free(last->name);
        free(last->value);
    }
}

static void insert(HpackDecoder *decoder, const char *name, const char *value) {
    unsigned size = (unsigned)(strlen(name) + strlen(value) + FIELD_OVERHEAD);
    decoder->changes++;
    evict_until(decoder, size > decoder->max ? 0 : decoder->max - size);
    if (size > decoder->max) return;
    memmove(decoder->table + 1, decoder->table, decoder->count * sizeof *decoder->table);
    decoder->table[0] = (TableField){strdup(name), strdup(value), size};
    decoder->count++;
    decoder->size += size;
}

// Copies the field of an index; `value` may be NULL.
static void look_up(const HpackDecoder *decoder, size_t index, char *name, char *value) {
    const char *found_name, *found_value;
    if (index >= 1 && index <= STATIC_FIELDS) {
        found_name = static_fields[index - 1].name;
        found_value = static_fields[index - 1].value;
    } else if (index > STATIC_FIELDS && index - STATIC_FIELDS <= decoder->count) {
        found_name = decoder->table[index - STATIC_FIELDS - 1].name;
        found_value = decoder->table[index - STATIC_FIELDS - 1].value;
    } else fail("the server sent a header index of no field: %zu", index);
    strcpy(name, found_name);
    if (value != NULL) strcpy(value, found_value);
}

static void take_field(BlockMeaning *meaning, const char *name, const char *value) {
    if (strcmp(name, ":status") == 0) meaning->http_status = atoi(value);
    if (strcmp(name, "grpc-status") == 0) meaning->grpc_status = atoi(value);
    if (strcmp(name, "grpc-message") == 0)
        snprintf(meaning->message, sizeof meaning->message, "%.*s", (int)sizeof meaning->message - 1, value);
}

static void read_fields(HpackDecoder *decoder, Input input, BlockMeaning *meaning) {
    char name[STRING_MAX], value[STRING_MAX];
    while (input.at < input.end) {
        uint8_t first = *input.at;
        if ((first & 0xe0) == 0x20) { // The size of the table changes.
            decoder->changes++;
            decoder->max = (unsigned)read_integer(&input, 5);
            if (decoder->max > TABLE_DEFAULT) fail("the server uses a larger header table than it may");
            evict_until(decoder, decoder->max);
            continue;
        }
        if (first & 0x80) look_up(decoder, read_integer(&input, 7), name, value);
        else {
            bool is_inserted = (first & 0x40) != 0;
            size_t index = read_integer(&input, is_inserted ? 6 : 4);
            if (index > 0) look_up(decoder, index, name, NULL);
            else read_string(&input, name);
            read_string(&input, value);
            if (is_inserted) insert(decoder, name, value);
        }
        take_field(meaning, name, value);
    }
}

const BlockMeaning *decoder_read(HpackDecoder *decoder, const uint8_t *block, size_t length) {
    for (unsigned at = 0; at < decoder->known_count; at++) {
        KnownBlock *known = &decoder->known[at];
        if (known->length == length && memcmp(known->bytes, block, length) == 0) return &known->meaning;
    }
    uint64_t changes = decoder->changes;
    decoder->last = (BlockMeaning){NO_STATUS, NO_STATUS, ""};
    read_fields(decoder, (Input){block, block + length}, &decoder->last);
    if (decoder->changes != changes) {
        decoder->known_count = 0;
        return &decoder->last;
    }
    if (length > KNOWN_BLOCK_MAX) return &decoder->last;
    if (decoder->known_count == KNOWN_BLOCKS) decoder->known_count = 0;
    KnownBlock *known = &decoder->known[decoder->known_count++];
    memcpy(known->bytes, block, length);
    known->length = length;
    known->meaning = decoder->last;
    return &known->meaning;
}
