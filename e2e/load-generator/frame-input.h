// Turns received bytes into frames. All connections read into one buffer, which so stays in the
// processor's cache; a connection keeps only what is left of an incomplete frame.
#ifndef FRAME_INPUT_H
#define FRAME_INPUT_H

#include <stdbool.h>

#include "http2.h"
#include "transport.h"

typedef struct {
    uint8_t rest[FRAME_HEADER_LENGTH + FRAME_PAYLOAD_MAX];
    unsigned rest_length;
    // Bytes to pass over before the first frame.
    unsigned skipped;
} FrameInput;

// Called for each frame.
typedef void (*OnFrame)(void *context, const Frame *frame);

// Reads everything that has come. False when the peer closed the connection.
bool input_read(FrameInput *input, Transport *transport, OnFrame on_frame, void *context);

#endif
