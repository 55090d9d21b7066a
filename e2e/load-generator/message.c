// The messages of ShouldRateLimit (envoy/service/ratelimit/v3/rls.proto) in the binary form of
// Protocol Buffers.
#include "message.h"

#include <string.h>

#include "fail.h"
#include "http2.h"

// In front of each message of gRPC: whether it is compressed, and its length.
#define MESSAGE_PREFIX 5

// Kinds of fields.
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

#define TAG(number, kind) ((number) << 3 | (kind))

// Lengths in requests and in the answers written here are below 128: one byte.
#define SHORT_MAX 127

static size_t put_bytes(uint8_t *out, unsigned number, const uint8_t *bytes, size_t length) {
    if (length > SHORT_MAX) fail("a part of the request is longer than %d bytes", SHORT_MAX);
    out[0] = (uint8_t)TAG(number, BYTES);
    out[1] = (uint8_t)length;
    memcpy(out + 2, bytes, length);
    return 2 + length;
}

static size_t put_prefix(uint8_t *out, size_t length) {
    out[0] = 0;
    put_u32(out + 1, (uint32_t)length);
    return MESSAGE_PREFIX;
}

// The value of an entry with digits in the place of the marker.
static size_t expand_value(uint8_t *out, const char *value) {
    const char *marker = strstr(value, KEY_MARKER);
    if (strlen(value) + KEY_DIGITS > SHORT_MAX) fail("the value of an entry is too long: %s", value);
    if (marker == NULL) {
        memcpy(out, value, strlen(value));
        return strlen(value);
    }
    size_t before = (size_t)(marker - value);
    size_t after = strlen(marker + strlen(KEY_MARKER));
    memcpy(out, value, before);
    memset(out + before, '#', KEY_DIGITS);
    memcpy(out + before + KEY_DIGITS, marker + strlen(KEY_MARKER), after);
    return before + KEY_DIGITS + after;
}

void request_prepare(RequestTemplate *request, const char *domain, const char *const *entries, unsigned count) {
    uint8_t descriptor[REQUEST_MAX], message[REQUEST_MAX];
    size_t descriptor_length = 0, message_length = 0;
    message_length += put_bytes(message, 1, (const uint8_t *)domain, strlen(domain));
    for (unsigned at = 0; at < count; at++) {
        if (entries[at] == NULL) {
            message_length += put_bytes(message + message_length, 2, descriptor, descriptor_length);
            descriptor_length = 0;
            continue;
        }
        uint8_t entry[REQUEST_MAX], value[SHORT_MAX + 1];
        const char *equals = strchr(entries[at], '=');
        if (equals == NULL || strchr(entries[at], '#') != NULL) fail("an entry is not key=value: %s", entries[at]);
        size_t value_length = expand_value(value, equals + 1);
        size_t length = put_bytes(entry, 1, (const uint8_t *)entries[at], (size_t)(equals - entries[at]));
        length += put_bytes(entry + length, 2, value, value_length);
        descriptor_length += put_bytes(descriptor + descriptor_length, 1, entry, length);
    }
    message_length += put_bytes(message + message_length, 2, descriptor, descriptor_length);
    request->length = put_prefix(request->bytes, message_length);
    memcpy(request->bytes + request->length, message, message_length);
    request->length += message_length;
    for (size_t at = 0; at < request->length; at++) {
        if (request->bytes[at] != '#' || request->bytes[at + 1] != '#') continue;
        request->key_places[request->key_count++] = at;
        at += KEY_DIGITS - 1;
    }
}

size_t request_write(const RequestTemplate *request, uint8_t *out, uint32_t key) {
    memcpy(out, request->bytes, request->length);
    for (unsigned at = 0; at < request->key_count; at++) {
        uint32_t rest = key;
        for (int digit = KEY_DIGITS - 1; digit >= 0; digit--, rest /= 10)
            out[request->key_places[at] + (size_t)digit] = (uint8_t)('0' + rest % 10);
    }
    return request->length;
}

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    bool is_broken;
} Reader;

static uint64_t read_varint(Reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    reader->is_broken = true;
    return 0;
}

// Passes over the value of a field; that of bytes is returned.
static Reader read_value(Reader *reader, unsigned kind, uint64_t *number) {
    uint64_t length = kind == FIXED64 ? 8 : kind == FIXED32 ? 4 : 0;
    Reader value = {reader->at, reader->at, false};
    if (kind == VARINT) *number = read_varint(reader);
    else if (kind == BYTES) length = read_varint(reader);
    else if (length == 0) reader->is_broken = true;
    if (length > (uint64_t)(reader->end - reader->at)) {
        reader->is_broken = true;
        return value;
    }
    value.at = reader->at;
    reader->at += length;
    value.end = reader->at;
    return value;
}

// The code of a descriptor's status.
static Code read_status_code(Reader status) {
    uint64_t code = 0;
    while (status.at < status.end && !status.is_broken) {
        uint64_t tag = read_varint(&status), number = 0;
        read_value(&status, tag & 7, &number);
        if (tag == TAG(1, VARINT)) code = number;
    }
    return status.is_broken ? 0 : (Code)code;
}

const char *answer_fault(const uint8_t *bytes, size_t length, Code expected) {
    if (length < MESSAGE_PREFIX || get_u32(bytes + 1) != length - MESSAGE_PREFIX) return "its message is incomplete";
    if (bytes[0] != 0) return "its message is compressed";
    Reader reader = {bytes + MESSAGE_PREFIX, bytes + length, false};
    uint64_t overall = 0, statuses = 0;
    while (reader.at < reader.end && !reader.is_broken) {
        uint64_t tag = read_varint(&reader), number = 0;
        Reader value = read_value(&reader, tag & 7, &number);
        if (tag == TAG(1, VARINT)) overall = number;
        if (tag != TAG(2, BYTES)) continue;
        statuses++;
        if (read_status_code(value) != expected)
            return expected == CODE_OK ? "a descriptor is not OK" : "a descriptor is not over the limit";
    }
    if (reader.is_broken) return "its message is no RateLimitResponse";
    if (overall != expected) return expected == CODE_OK ? "it is not OK" : "it is not over the limit";
    return statuses > 0 ? NULL : "it has no descriptor";
}

size_t answer_write(uint8_t *out, Code code) {
    const uint8_t limit[] = {TAG(1, VARINT), 0x80, 0xd0, 0xac, 0xf3, 0x0e, TAG(2, VARINT), 4};
    const uint8_t duration[] = {TAG(1, VARINT), 0xe0, 0xd4, 0x03};
    const uint8_t remaining[] = {TAG(3, VARINT), 0xff, 0xcf, 0xac, 0xf3, 0x0e};
    uint8_t status[SHORT_MAX], message[SHORT_MAX];
    size_t length = 0;
    status[length++] = TAG(1, VARINT);
    status[length++] = (uint8_t)code;
    length += put_bytes(status + length, 2, limit, sizeof limit);
    if (code == CODE_OK) {
        memcpy(status + length, remaining, sizeof remaining);
        length += sizeof remaining;
    }
    length += put_bytes(status + length, 4, duration, sizeof duration);
    message[0] = TAG(1, VARINT);
    message[1] = (uint8_t)code;
    size_t message_length = 2 + put_bytes(message + 2, 2, status, length);
    size_t prefix = put_prefix(out, message_length);
    memcpy(out + prefix, message, message_length);
    return prefix + message_length;
}
