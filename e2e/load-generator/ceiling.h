// The server that decides nothing.
#ifndef CEILING_H
#define CEILING_H

#include "options.h"

// Answers every call with the same prepared bytes, until it is ended.
void ceiling_run(const Options *options) __attribute__((noreturn));

#endif
