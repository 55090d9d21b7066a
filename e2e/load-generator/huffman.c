// The Huffman code of header strings, made from the lengths of its codes.
#include "huffman.h"

#include "hpack-tables.h"

#define LENGTH_MAX 30
#define END_OF_STRING 256

static uint32_t codes[HUFFMAN_SYMBOLS];

// Symbols ordered by their codes, and for each length its first code and where its symbols begin.
static uint16_t symbols[HUFFMAN_SYMBOLS];
static uint32_t first_code[LENGTH_MAX + 2];
static uint16_t first_symbol[LENGTH_MAX + 2];

void huffman_prepare(void) {
    uint32_t code = 0;
    uint16_t placed = 0;
    for (unsigned length = 1; length <= LENGTH_MAX; length++) {
        code <<= 1;
        first_code[length] = code;
        first_symbol[length] = placed;
        for (unsigned symbol = 0; symbol < HUFFMAN_SYMBOLS; symbol++) {
            if (huffman_lengths[symbol] != length) continue;
            codes[symbol] = code++;
            symbols[placed++] = (uint16_t)symbol;
        }
    }
    first_symbol[LENGTH_MAX + 1] = placed;
}

size_t huffman_encoded_length(const char *text, size_t length) {
    size_t bits = 0;
    for (size_t at = 0; at < length; at++) bits += huffman_lengths[(uint8_t)text[at]];
    return (bits + 7) / 8;
}

size_t huffman_encode(uint8_t *out, const char *text, size_t length) {
    uint64_t pending = 0;
    unsigned bits = 0;
    size_t written = 0;
    for (size_t at = 0; at < length; at++) {
        uint8_t symbol = (uint8_t)text[at];
        pending = pending << huffman_lengths[symbol] | codes[symbol];
        bits += huffman_lengths[symbol];
        for (; bits >= 8; bits -= 8) out[written++] = (uint8_t)(pending >> (bits - 8));
    }
    // The rest of the last byte is the beginning of the end of a string: ones.
    if (bits > 0) out[written++] = (uint8_t)(pending << (8 - bits) | (0xff >> bits));
    return written;
}

int huffman_decode(char *out, size_t capacity, const uint8_t *bytes, size_t length) {
    uint32_t code = 0;
    unsigned bits = 0;
    size_t written = 0;
    for (size_t bit = 0; bit < length * 8; bit++) {
        code = code << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
        bits++;
        unsigned count = bits > LENGTH_MAX ? 0 : first_symbol[bits + 1] - first_symbol[bits];
        if (bits > LENGTH_MAX) return -1;
        if (code < first_code[bits] || code - first_code[bits] >= count) continue;
        uint16_t symbol = symbols[first_symbol[bits] + (code - first_code[bits])];
        if (symbol == END_OF_STRING || written == capacity) return -1;
        out[written++] = (char)symbol;
        code = 0;
        bits = 0;
    }
    return bits < 8 ? (int)written : -1;
}
