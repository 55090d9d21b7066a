// The messages of ShouldRateLimit, encoded by hand: requests from a template, answers as far as they
// are checked.
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Placeholder for the number of a key in the value of an entry, and the digits that replace it.
#define KEY_MARKER "{key}"
#define KEY_DIGITS 7

// Entries of all descriptors at most, and places of keys among them.
#define ENTRIES_MAX 8

// Longest request with the five bytes in front of it.
#define REQUEST_MAX 512

typedef enum { CODE_OK = 1, CODE_OVER_LIMIT = 2 } Code;

typedef struct {
    uint8_t bytes[REQUEST_MAX];
    size_t length;
    size_t key_places[ENTRIES_MAX];
    unsigned key_count;
} RequestTemplate;

// Makes the request with `entries`, each written as key=value; NULL begins another descriptor.
void request_prepare(RequestTemplate *request, const char *domain, const char *const *entries, unsigned count);

// Writes the request about a key and returns its length.
size_t request_write(const RequestTemplate *request, uint8_t *out, uint32_t key);

// Checks an answer, with the five bytes in front of it: its code and those of its descriptors. Returns
// NULL, or what is wrong.
const char *answer_fault(const uint8_t *bytes, size_t length, Code expected);

// Writes a valid answer, with the five bytes in front of it, and returns its length.
size_t answer_write(uint8_t *out, Code code);

#endif
