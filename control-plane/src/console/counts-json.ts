// Responses of WatchCounts as JSON. The part that watchers of one moment share is encoded once for all of them: pages
// show the same fleets, and encoding 500 rules takes longer than all else that a page costs.
import { type DescMessage, type MessageShape, toJson, toJsonString } from "@bufbuild/protobuf";
import {
  type FleetCounts,
  FleetCountsSchema,
  type FleetKeys,
  FleetKeysSchema,
  type WatchCountsResponse,
  WatchCountsResponseSchema,
} from "@weir/proto/generated/weir/console/v1/console_pb";
import { type Observation, ObservationSchema } from "@weir/proto/generated/weir/observe/v1/observe_pb";

/** Encoded counts and keys of fleets: as long as they are the present ones. */
const texts = new WeakMap<Observation | FleetKeys, string>();

/** The response in the JSON of protobuf. */
export function countsJson({ fleets, ...response }: WatchCountsResponse): string {
  return object(WatchCountsResponseSchema, { ...response, fleets: [] }, list("fleets", fleets.map(fleetJson)));
}

function fleetJson({ counts, keys, ...fleet }: FleetCounts): string {
  return object(
    FleetCountsSchema,
    { ...fleet, keys: [] },
    counts === undefined ? "" : `"counts":${shared(ObservationSchema, counts)}`,
    list(
      "keys",
      keys.map((each) => shared(FleetKeysSchema, each)),
    ),
  );
}

/** A message with further fields, which are encoded already; empty texts are none. */
function object<Schema extends DescMessage>(
  schema: Schema,
  message: MessageShape<Schema>,
  ...fields: readonly string[]
): string {
  const own = Object.entries(toJson(schema, message) as object).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return `{${[...own, ...fields.filter((field) => field !== "")].join(",")}}`;
}

function list(name: string, items: readonly string[]): string {
  return items.length === 0 ? "" : `${JSON.stringify(name)}:[${items.join(",")}]`;
}

function shared<Schema extends typeof ObservationSchema | typeof FleetKeysSchema>(
  schema: Schema,
  message: MessageShape<Schema>,
): string {
  return texts.getOrInsertComputed(message, () => toJsonString(schema, message));
}
