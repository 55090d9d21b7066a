// The Huffman code of header strings (RFC 7541, section 5.2).
#ifndef HUFFMAN_H
#define HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

// Makes the codes; before anything else here is called.
void huffman_prepare(void);

// Bytes that `text` has when encoded.
size_t huffman_encoded_length(const char *text, size_t length);

// Encodes `text` into `out` and returns the number of bytes written.
size_t huffman_encode(uint8_t *out, const char *text, size_t length);

// Decodes into at most `capacity` bytes of `out`; returns their number, or -1 for invalid input.
int huffman_decode(char *out, size_t capacity, const uint8_t *bytes, size_t length);

#endif
