// A connection on which calls are sent and their answers checked: the client's side of HTTP/2, as
// Envoy speaks it.
#include "call-connection.h"

#include <string.h>

#include "fail.h"
#include "http2.h"

// Bytes that wait to be written at most.
#define OUT_SIZE (1 << 20)

// Envoy's window for answers, of a stream and of the connection.
#define RECEIVE_WINDOW (256u << 20)

// Received bytes after which a WINDOW_UPDATE is sent.
#define WINDOW_STEP (1u << 20)

// Room that a call must find in the output.
#define CALL_BYTES_MAX (2 * FRAME_HEADER_LENGTH + ENCODED_MAX + REQUEST_MAX)

static void put_settings(CallConnection *connection) {
    uint8_t *out = connection->out;
    memcpy(out, PREFACE, PREFACE_LENGTH);
    size_t at = PREFACE_LENGTH;
    at += put_frame_header(out + at, 6, FRAME_SETTINGS, 0, 0);
    out[at] = 0;
    out[at + 1] = SETTING_INITIAL_WINDOW_SIZE;
    put_u32(out + at + 2, RECEIVE_WINDOW);
    at += 6;
    at += put_frame_header(out + at, 4, FRAME_WINDOW_UPDATE, 0, 0);
    put_u32(out + at, RECEIVE_WINDOW - WINDOW_DEFAULT);
    connection->out_length = (unsigned)at + 4;
}

void connection_open(CallConnection *connection, int port, SSL_CTX *tls, unsigned calls) {
    memset(connection, 0, sizeof *connection);
    connection->transport = transport_connect(port, tls);
    encoder_prepare(&connection->encoder);
    decoder_prepare(&connection->decoder);
    connection->next_stream = 1;
    connection->streams_max = CALLS_MAX;
    connection->send_window = WINDOW_DEFAULT;
    connection->stream_window = WINDOW_DEFAULT;
    // Calls end in another order than they began: places enough that an old one is rarely in the way.
    for (connection->call_places = 16; connection->call_places < 4 * calls;) connection->call_places *= 2;
    connection->calls = allocate(connection->call_places * sizeof *connection->calls);
    connection->out = allocate(OUT_SIZE);
    put_settings(connection);
}

static Call *place_of(const CallConnection *connection, uint32_t stream) {
    return &connection->calls[(stream >> 1) & (connection->call_places - 1)];
}

bool connection_has_place(const CallConnection *connection) {
    return connection->in_flight < connection->streams_max && connection->send_window >= REQUEST_MAX &&
           connection->out_length + CALL_BYTES_MAX <= OUT_SIZE &&
           place_of(connection, connection->next_stream)->due_ns == 0;
}

void connection_call(CallConnection *connection, const RequestTemplate *request, uint32_t key, uint64_t due_ns) {
    uint32_t stream = connection->next_stream;
    if (stream > 0x7ffffffd) fail("a connection has no stream identifiers left");
    if (connection->stream_window < request->length) fail("the server's window is smaller than a request");
    connection->next_stream += 2;
    uint8_t *headers = connection->out + connection->out_length;
    size_t block = encoder_write(&connection->encoder, headers + FRAME_HEADER_LENGTH);
    put_frame_header(headers, block, FRAME_HEADERS, FLAG_END_HEADERS, stream);
    uint8_t *data = headers + FRAME_HEADER_LENGTH + block;
    size_t length = request_write(request, data + FRAME_HEADER_LENGTH, key);
    put_frame_header(data, length, FRAME_DATA, FLAG_END_STREAM, stream);
    connection->out_length += (unsigned)(2 * FRAME_HEADER_LENGTH + block + length);
    connection->send_window -= (int64_t)length;
    connection->in_flight++;
    Call *call = place_of(connection, stream);
    call->due_ns = due_ns;
    call->has_headers = false;
    call->answer_length = 0;
}

void connection_flush(CallConnection *connection) {
    while (connection->out_sent < connection->out_length) {
        long sent = transport_write(&connection->transport, connection->out + connection->out_sent,
                                    connection->out_length - connection->out_sent);
        if (sent < 0) fail("the server closed a connection");
        if (sent == 0) break;
        connection->out_sent += (unsigned)sent;
    }
    connection->is_blocked = connection->out_sent < connection->out_length;
    if (connection->is_blocked) return;
    connection->out_sent = 0;
    connection->out_length = 0;
}

// Control frames are small; one that finds no room shows that the server reads nothing.
static uint8_t *put_control(CallConnection *connection, size_t length, uint8_t type, uint8_t flags) {
    if (connection->out_length + FRAME_HEADER_LENGTH + length > OUT_SIZE) fail("the server reads too slowly");
    uint8_t *out = connection->out + connection->out_length;
    put_frame_header(out, length, type, flags, 0);
    connection->out_length += (unsigned)(FRAME_HEADER_LENGTH + length);
    return out + FRAME_HEADER_LENGTH;
}

static void take_settings(CallConnection *connection, const Frame *frame) {
    if (frame->flags & FLAG_ACK) return;
    for (size_t at = 0; at + 6 <= frame->length; at += 6) {
        unsigned setting = (unsigned)frame->payload[at] << 8 | frame->payload[at + 1];
        uint32_t value = get_u32(frame->payload + at + 2);
        if (setting == SETTING_HEADER_TABLE_SIZE) encoder_set_table_max(&connection->encoder, value);
        if (setting == SETTING_INITIAL_WINDOW_SIZE) connection->stream_window = value;
        if (setting == SETTING_MAX_CONCURRENT_STREAMS)
            connection->streams_max = value < CALLS_MAX ? value : CALLS_MAX;
    }
    put_control(connection, 0, FRAME_SETTINGS, FLAG_ACK);
}

static void take_headers(CallConnection *connection, const Frame *frame, Call *call) {
    if ((frame->flags & FLAG_END_HEADERS) == 0 || (frame->flags & (FLAG_PADDED | FLAG_PRIORITY)) != 0)
        fail("the server sent a header block in several frames, padded or with a priority");
    const BlockMeaning *meaning = decoder_read(&connection->decoder, frame->payload, frame->length);
    bool is_end = (frame->flags & FLAG_END_STREAM) != 0;
    if (meaning->http_status != NO_STATUS && meaning->http_status != 200)
        fail("a call was answered with HTTP status %d", meaning->http_status);
    if (is_end && meaning->grpc_status != 0)
        fail("a call was answered with grpc-status %d: %s", meaning->grpc_status, meaning->message);
    if (!is_end && (call->has_headers || meaning->http_status == NO_STATUS)) fail("an answer has no valid headers");
    call->has_headers = true;
}

static void take_data(CallConnection *connection, const Frame *frame, Call *call) {
    if (frame->flags & FLAG_PADDED) fail("the server sent padded data");
    if (!call->has_headers) fail("an answer has no headers");
    if (call->answer_length + frame->length > ANSWER_MAX) fail("an answer is longer than %d bytes", ANSWER_MAX);
    memcpy(call->answer + call->answer_length, frame->payload, frame->length);
    call->answer_length += (uint16_t)frame->length;
    connection->received += (uint32_t)frame->length;
    if (frame->flags & FLAG_END_STREAM) fail("an answer has no trailers");
}

static void end_call(CallConnection *connection, Call *call) {
    const char *fault = answer_fault(call->answer, call->answer_length, connection->expected);
    if (fault != NULL) fail("an answer is wrong: %s", fault);
    uint64_t due_ns = call->due_ns;
    call->due_ns = 0;
    connection->in_flight--;
    connection->answered(connection->context, due_ns);
}

static void take_frame(void *context, const Frame *frame) {
    CallConnection *connection = context;
    if (frame->type == FRAME_HEADERS || frame->type == FRAME_DATA) {
        Call *call = place_of(connection, frame->stream);
        if (call->due_ns == 0) fail("the server answered a call that is not in flight");
        if (frame->type == FRAME_DATA) take_data(connection, frame, call);
        else take_headers(connection, frame, call);
        if (frame->flags & FLAG_END_STREAM) end_call(connection, call);
    } else if (frame->type == FRAME_SETTINGS) {
        take_settings(connection, frame);
    } else if (frame->type == FRAME_WINDOW_UPDATE) {
        if (frame->stream == 0) connection->send_window += get_u32(frame->payload) & 0x7fffffff;
    } else if (frame->type == FRAME_PING) {
        if ((frame->flags & FLAG_ACK) == 0) memcpy(put_control(connection, 8, FRAME_PING, FLAG_ACK), frame->payload, 8);
    } else if (frame->type == FRAME_RST_STREAM) {
        fail("the server reset a call with code %u", get_u32(frame->payload));
    } else if (frame->type == FRAME_GOAWAY) {
        fail("the server ends a connection with code %u", get_u32(frame->payload + 4));
    } else if (frame->type == FRAME_CONTINUATION) {
        fail("the server sent a header block in several frames");
    }
}

void connection_read(CallConnection *connection) {
    if (!input_read(&connection->input, &connection->transport, take_frame, connection))
        fail("the server closed a connection");
    if (connection->received < WINDOW_STEP) return;
    put_u32(put_control(connection, 4, FRAME_WINDOW_UPDATE, 0), connection->received);
    connection->received = 0;
}
