// The measurement: sends calls, closed or open loop, and reports how they were answered.
#ifndef LOAD_H
#define LOAD_H

#include "options.h"

// Runs the load and prints the report on standard output.
void load_run(const Options *options);

#endif
