// The numbered cases about the service as a whole: calls, HTTP, health, debug, statistics,
// configuration sources, and flows from end to end (144 to 208).
import { type ConformanceSection, ours, same } from "./case.ts";

/** The sections about the service. */
export const SERVICE_SECTIONS: readonly ConformanceSection[] = [
  {
    title: "Calls",
    cases: [
      same(144, "No limit: overall OK, one status."),
      same(145, "One over, one OK, in either order: overall over."),
      same(146, "A later load fails: the active rules stay, and both loads are counted."),
      same(147, "Global shadow mode: overall OK, statuses unchanged, counted once."),
      same(148, "Rules in shadow mode alone count nothing for the global mode."),
      same(149, "A rule in shadow mode over and another over: overall over."),
      same(150, "Response headers of a rejection, with names of their own."),
      same(151, "Response headers of the descriptor with the least left; none without a limit."),
      ours(
        152,
        "An empty domain: its text, `service_error`.",
        "The same text and statistic; the status of the call is INVALID_ARGUMENT instead of UNKNOWN, so that callers know the cause and if a retry helps.",
      ),
      ours(
        153,
        "No descriptors: its text, `service_error`.",
        "The same text and statistic; the status of the call is INVALID_ARGUMENT instead of UNKNOWN, so that callers know the cause and if a retry helps.",
      ),
      ours(
        154,
        "An error of the store: its text, `redis_error`.",
        "The same text and statistic; the status of the call is UNAVAILABLE instead of UNKNOWN, so that callers know the cause and if a retry helps.",
      ),
      ours(
        155,
        "No configuration was ever loaded: its text, `service_error`.",
        "The same text and statistic; the status of the call is UNAVAILABLE instead of UNKNOWN, so that callers know the cause and if a retry helps.",
      ),
      same(156, "A limit, no limit, unlimited in one call."),
      same(157, "Replaced and replacing rules in one call, and each alone."),
      same(158, "Global quota mode, all over: overall over."),
      same(159, "A limit over and a quota not: overall over."),
      same(160, "A limit not over and the only quota over: overall over."),
      same(161, "Neither over: OK."),
      same(162, "Two quotas: both over is over, one over is OK with its status kept."),
      same(163, "Quotas under global shadow mode: OK, counted once."),
      same(164, "Dynamic metadata names what passed."),
      same(165, "Metadata of limits that passed is merged, the first value of a key wins."),
      same(166, "Dynamic metadata without any limit that passed: domain, descriptors, addend."),
      same(167, "One span per call."),
    ],
  },
  {
    title: "HTTP, health and debug",
    cases: [
      ours(
        168,
        "An empty or broken body of `/json`: 400 with a plain `Bad Request`.",
        'Status 400 as well, but with a body that says what is wrong: `{"code": …, "message": …}`.',
      ),
      ours(
        169,
        "Any error of the service on `/json` is 400; an unknown decision 500.",
        "400 is kept for requests that are wrong; a missing configuration or store is 503, a fault of this service 500, each with code and message. A decision is never unknown.",
      ),
      same(170, "`/json` answers 200 or 429 with the decision, whatever the method."),
      same(171, "An unknown field is refused, names in snake_case are taken."),
      same(172, "Zeros are left out of the JSON; unlimited shows the largest number."),
      ours(
        173,
        "Health follows the store: unhealthy at first, then with each change.",
        "The store begins healthy and makes the process unhealthy only where `KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION` is on; before the service listens it is unhealthy for that reason.",
      ),
      same(174, "With the configuration taking part both must be healthy."),
      ours(
        175,
        "gRPC health of `ratelimit` follows the state, that of the empty name is always SERVING, others are unknown.",
        "The empty name follows the state too: who asks for the whole process wants to know about it.",
      ),
      same(176, "Configuration in health: domains make it healthy, none unhealthy; without it only the store counts."),
      same(177, "SIGTERM: unhealthy while the rest drains."),
      ours(
        178,
        "The debug page lists its five paths for `/` and any unknown one; `/rlconfig` is empty before a configuration.",
        "The same, with more paths to list: `/healthcheck` and the profiles of Node.js.",
      ),
      same(179, "Each gRPC call is counted, with its time."),
    ],
  },
  {
    title: "Statistics",
    cases: [
      same(180, "Colons, bars and addresses in names are cleaned."),
      same(181, "Calls by gRPC method, for scraping."),
      same(182, "Rules below the second level are added up, for scraping."),
      same(183, "Response times as a histogram, in seconds or milliseconds."),
      same(184, "What is not mapped keeps its own name."),
      same(185, "Parts of a name become tags; one without `=` is dropped."),
      same(186, "Mogrifiers: groups, a group that is not there, no match, the first of two."),
      same(187, "Mogrifiers that cannot be used stop the start."),
      same(188, "Extra tags are in the names of all statistics."),
    ],
  },
  {
    title: "Sources of configuration",
    cases: [
      same(189, "A first snapshot of the configuration server, as dumped."),
      same(190, "A new snapshot replaces everything; nested, unlimited, shadow and quota as dumped."),
      same(191, "One domain in two resources: merged, or rejected with the old rules kept."),
      same(192, "A resource that is invalid is rejected, with the active version and the nonce."),
    ],
  },
  {
    title: "End to end",
    cases: [
      same(193, "An unknown domain: OK, one status."),
      same(194, "First hit of 50 per second: 49 left, one hit counted."),
      same(
        195,
        "25 calls of 20 per minute: 20 pass, 5 do not; with the local cache the store is asked about the first of these only.",
      ),
      same(
        196,
        "Two limits in one call, one of them over from the eleventh call on; the other continues, or stops with the setting.",
      ),
      same(197, "One key per day, twice, 2 s apart: the time until reset is less."),
      same(198, "A file that comes and goes is taken up and forgotten."),
      same(199, "A shared threshold is used up by several values; otherwise each has its own."),
      same(200, "Cases 193 to 197 over every kind of store, with passwords, TLS, prefix and local cache."),
      same(201, "Certificates of the gRPC listener are replaced while it runs."),
      same(202, "Mutual TLS with the name of the client."),
      same(203, "A wildcard is limited at the fourth request, a value in shadow mode never."),
      same(204, "`detailed_metric`: limited at the third request, counted under the value."),
      same(205, "Replaced limits: alone, replaced, kept untouched, two in one call."),
      same(206, "Two quotas in one call: passes while one has something left, and again in the next window."),
      same(207, "Tokens: a check of 0 before, an addend after; the check passes until more than the limit is used."),
      same(208, "Tokens of two services: the metadata names the first that has some left."),
    ],
  },
];
