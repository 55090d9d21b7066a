// Ends the program with a reason.
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load-generator: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(unsigned long size) {
    void *memory = calloc(1, size);
    if (memory == NULL) fail("%lu bytes of memory are not free", size);
    return memory;
}
