// A connection on which calls are sent and their answers checked.
#ifndef CALL_CONNECTION_H
#define CALL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "frame-input.h"
#include "hpack-decoder.h"
#include "hpack-encoder.h"
#include "message.h"
#include "transport.h"

// Calls in flight on a connection at most, as Envoy sends at most by default.
#define CALLS_MAX 1024

// Longest message of an answer.
#define ANSWER_MAX 256

typedef struct {
    // When the call was due, in nanoseconds; 0 for a free place.
    uint64_t due_ns;
    bool has_headers;
    uint16_t answer_length;
    uint8_t answer[ANSWER_MAX];
} Call;

// Called with the time at which an answered call was due.
typedef void (*OnAnswer)(void *context, uint64_t due_ns);

typedef struct {
    Transport transport;
    HpackEncoder encoder;
    HpackDecoder decoder;
    uint32_t next_stream;
    unsigned in_flight;
    // Limits of the server.
    uint32_t streams_max;
    int64_t send_window;
    uint32_t stream_window;
    // Bytes received since the last WINDOW_UPDATE.
    uint32_t received;
    Call *calls;
    unsigned call_places;
    FrameInput input;
    uint8_t *out;
    unsigned out_length;
    unsigned out_sent;
    // The socket takes no more for now.
    bool is_blocked;
    // The code that every answer must have, and the receiver of answers.
    Code expected;
    OnAnswer answered;
    void *context;
} CallConnection;

// Opens the connection; `calls` are in flight on it at most. `expected`, `answered` and `context` are set
// by the caller.
void connection_open(CallConnection *connection, int port, SSL_CTX *tls, unsigned calls);

// True when another call may be sent now.
bool connection_has_place(const CallConnection *connection);

// Adds a call to what is written next.
void connection_call(CallConnection *connection, const RequestTemplate *request, uint32_t key, uint64_t due_ns);

// Writes what was added, as far as the socket takes it.
void connection_flush(CallConnection *connection);

// Reads what has come and checks it. Ends the program for anything but expected answers.
void connection_read(CallConnection *connection);

#endif
