// Part of `make fuzz`: compares the codec with @bufbuild/protobuf on random messages, changed ones and
// random decisions, for a tenth of the minutes.
import { parseArgs } from "node:util";

import { toBinary } from "@bufbuild/protobuf";
import { mutate } from "@weir/harness/processes/mutation";
import { Random } from "@weir/harness/processes/random";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { randomMessage } from "@weir/proto/random-message.suite";
import fc from "fast-check";

import { compareDecoding, encodeByLibrary, randomDecision } from "./codec-oracle.suite.ts";
import { DecisionEncoder } from "./decision-encoder.ts";
import { RequestDecoder } from "./request-decoder.ts";

/** Messages and decisions between two looks at the time. */
const ROUND = 2000;

const SHARE_OF_TIME = 0.1;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, seed: { type: "string" } } });
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const endMs = performance.now() + Number(values.minutes) * 60_000 * SHARE_OF_TIME;
const decoder = new RequestDecoder({ maxDescriptors: 1000, maxEntries: 100 });
const encoder = new DecisionEncoder();
const seen = { decoded: 0, malformed: 0, stricter: 0, decisions: 0 };

process.stdout.write(`Codec: seed ${seed}\n`);
for (let round = 0; performance.now() < endMs; round++) {
  const runs = { seed: seed + round, numRuns: ROUND };
  fc.assert(
    fc.property(
      randomMessage(RateLimitRequestSchema),
      fc.nat({ max: 12 }),
      fc.nat(),
      (message, changes, changeSeed) => {
        const random = new Random(changeSeed);
        let bytes: Buffer = Buffer.from(toBinary(RateLimitRequestSchema, message as RateLimitRequest));
        seen[compareDecoding(decoder, bytes)] += 1;
        for (let change = 0; change < changes; change++) {
          bytes = mutate(random, bytes, 1);
          seen[compareDecoding(decoder, bytes)] += 1;
        }
      },
    ),
    runs,
  );
  fc.assert(
    fc.property(randomDecision(), (decision) => {
      const target = Buffer.alloc(encoder.maxBytes(decision));
      const end = encoder.encode(decision, target, 0);
      seen.decisions += 1;
      return target.toString("hex", 0, end) === encodeByLibrary(decision);
    }),
    runs,
  );
}
process.stdout.write(`Codec: ${JSON.stringify(seen)}, as @bufbuild/protobuf.\n`);
