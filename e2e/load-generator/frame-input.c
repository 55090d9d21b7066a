// Turns received bytes into frames.
#include "frame-input.h"

#include <string.h>

#include "fail.h"

// Bytes that are read in one go.
#define BUFFER_SIZE (1 << 18)

static uint8_t buffer[BUFFER_SIZE];

// Hands on the frames of the buffer and keeps what is left of the last one.
static void take_frames(FrameInput *input, unsigned length, OnFrame on_frame, void *context) {
    unsigned at = input->skipped < length ? input->skipped : length;
    input->skipped -= at;
    Frame frame;
    for (size_t whole; (whole = get_frame(&frame, buffer + at, length - at)) > 0; at += (unsigned)whole)
        on_frame(context, &frame);
    input->rest_length = length - at;
    if (input->rest_length > sizeof input->rest) fail("a frame is longer than it may be");
    memcpy(input->rest, buffer + at, input->rest_length);
}

bool input_read(FrameInput *input, Transport *transport, OnFrame on_frame, void *context) {
    for (;;) {
        memcpy(buffer, input->rest, input->rest_length);
        unsigned capacity = BUFFER_SIZE - input->rest_length;
        long received = transport_read(transport, buffer + input->rest_length, capacity);
        if (received < 0) return false;
        if (received == 0) return true;
        take_frames(input, input->rest_length + (unsigned)received, on_frame, context);
        // A plaintext socket that gave less than it could has no more; TLS may have a record left.
        if (transport->tls == NULL && received < capacity) return true;
    }
}
