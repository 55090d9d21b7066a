// Frames of HTTP/2 (RFC 9113, sections 4 and 6).
#ifndef HTTP2_H
#define HTTP2_H

#include <stddef.h>
#include <stdint.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_LENGTH 24
#define FRAME_HEADER_LENGTH 9

// Payload of a frame at most, with default settings.
#define FRAME_PAYLOAD_MAX 16384

// Bytes that a server accepts on a connection before it says more.
#define WINDOW_DEFAULT 65535

enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_RST_STREAM = 3, FRAME_SETTINGS = 4, FRAME_PING = 6, FRAME_GOAWAY = 7,
       FRAME_WINDOW_UPDATE = 8, FRAME_CONTINUATION = 9 };
enum { FLAG_END_STREAM = 1, FLAG_ACK = 1, FLAG_END_HEADERS = 4, FLAG_PADDED = 8, FLAG_PRIORITY = 32 };
enum { SETTING_HEADER_TABLE_SIZE = 1, SETTING_MAX_CONCURRENT_STREAMS = 3, SETTING_INITIAL_WINDOW_SIZE = 4 };

typedef struct {
    size_t length;
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    const uint8_t *payload;
} Frame;

static inline void put_u32(uint8_t *out, uint32_t value) {
    out[0] = (uint8_t)(value >> 24);
    out[1] = (uint8_t)(value >> 16);
    out[2] = (uint8_t)(value >> 8);
    out[3] = (uint8_t)value;
}

static inline uint32_t get_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Writes the header of a frame and returns its length.
static inline size_t put_frame_header(uint8_t *out, size_t length, uint8_t type, uint8_t flags, uint32_t stream) {
    out[0] = (uint8_t)(length >> 16);
    out[1] = (uint8_t)(length >> 8);
    out[2] = (uint8_t)length;
    out[3] = type;
    out[4] = flags;
    put_u32(out + 5, stream);
    return FRAME_HEADER_LENGTH;
}

// Reads the frame that `bytes` begin with; returns its whole length, or 0 when it is incomplete.
static inline size_t get_frame(Frame *frame, const uint8_t *bytes, size_t available) {
    if (available < FRAME_HEADER_LENGTH) return 0;
    frame->length = (size_t)bytes[0] << 16 | (size_t)bytes[1] << 8 | bytes[2];
    frame->type = bytes[3];
    frame->flags = bytes[4];
    frame->stream = get_u32(bytes + 5) & 0x7fffffff;
    frame->payload = bytes + FRAME_HEADER_LENGTH;
    size_t whole = FRAME_HEADER_LENGTH + frame->length;
    return available < whole ? 0 : whole;
}

#endif
