// The command line.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#include "message.h"

// Processes whose processor time is reported, at most.
#define WATCHED_MAX 4

typedef struct {
    int port;
    // A server that gives prepared answers instead of a load.
    bool is_server;
    int connections;
    // Calls in flight on each connection of a closed loop.
    int in_flight;
    // Calls a second of an open loop; 0 for a closed loop.
    double rate;
    double warm_up_seconds;
    double seconds;
    uint32_t keys;
    const char *domain;
    const char *entries[ENTRIES_MAX];
    unsigned entry_count;
    Code expected;
    bool has_trace_headers;
    // NULL in plaintext.
    const char *tls_ca;
    const char *tls_certificate;
    const char *tls_key;
    int watched[WATCHED_MAX];
    unsigned watched_count;
    uint64_t seed;
} Options;

// Reads the command line; prints the help and ends the program when it is asked for or invalid.
void options_read(Options *options, int count, char **arguments);

#endif
