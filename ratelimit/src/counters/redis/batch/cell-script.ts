// The script that counts in a cell of Redis: all limits of a rule for one set of values are one key, so that no
// slot of a cluster separates them. The arithmetic is that of limits/cell, in the same order of operations.
import { createHash } from "node:crypto";
import {
  CELL_NUMBERS,
  type CellRule,
  cellWindowStartMs,
  FIXED_WINDOW,
  SKEW_MAX_MS,
  SLIDING_WINDOW,
  TOKEN_BUCKET,
  TOLERANCE,
} from "@weir/limits/cell/cell";
import { LIMITS_MAX } from "@weir/limits/model/model";
import { WINDOW_MAX_SECONDS } from "@weir/limits/model/unit";
import { numberArgument, textArgument } from "../connection/command-buffer.ts";

/**
 * How long a key is kept once it is whole, in seconds: the clock of a replica that is promoted may be behind by
 * as much, and must not drop the state before.
 */
const SLACK_SECONDS = 60;

/** How much later than that a key expires, in milliseconds: to set an expiry costs as much as the arithmetic, so few calls do. */
const EXPIRY_STEP_MS = 60_000;

/**
 * KEYS[1]: the numbers of the cell, eight bytes each, in the order of CellState. In place of the hits of a window before,
 * a bucket has the moment until which the expiry of the key is late enough for it.
 * ARGV: 1 milliseconds since the epoch, below 0 to take those of the server instead; 2 hits of a call; 3 calls;
 * 4 "1" when rejected hits count; then for each limit its window in milliseconds, requests, capacity, and the
 * algorithm, or the start of a fixed window that the calendar knows.
 * Answers numbers of eight bytes: calls that pass, the milliseconds of the server (0 when not taken), and the cell after
 * the calls. In one text, which costs the server and this process less than a list.
 */
const SCRIPT = `
local now,hits,calls,taken=ARGV[1]+0,ARGV[2]+0,ARGV[3]+0,0
if now<0 then
 now=-now
 local t=redis.pcall('TIME')
 if t[1] then taken=t[1]*1000+math.floor(t[2]/1000) now=taken end
end
local stored=redis.call('GET',KEYS[1])
local s,at,passing,expires={},1,calls,not stored
for i=5,#ARGV,4 do
 local window,room,kind=ARGV[i]+0,ARGV[i+2]+0,ARGV[i+3]
 local time,used,before=0,0,0
 if stored then time,used,before,at=struct.unpack('<ddd',stored,at) end
 if kind=='${TOKEN_BUCKET}' then
  if time>now+${SKEW_MAX_MS}+2*window then time,used,before=now-now%window,0,0 end
  if time<now then
   used=used-(now-time)*ARGV[i+1]/window
   if used<0 then used=0 end
   time=now
  end
  room=room-used
 else
  local slides=kind=='${SLIDING_WINDOW}'
  local start=(slides or kind=='${FIXED_WINDOW}') and now-now%window or kind+0
  if time>now+${SKEW_MAX_MS}+2*window then time,used,before,expires=start,0,0,true end
  if time<start then
   before=slides and time==start-window and used or 0
   time,used,expires=start,0,true
  end
  if slides then
   local elapsed=now-time
   if elapsed<0 then elapsed=0 end
   room=room-before*((window-elapsed)/window)
  end
  room=room-used
 end
 local n=#s
 s[n+1],s[n+2],s[n+3]=time,used,before
 if hits>0 then
  local fitting=math.floor((room+${TOLERANCE})/hits)
  if fitting<passing then passing=fitting end
 elseif hits==0 and room<1-${TOLERANCE} then passing=0 end
end
if passing<0 then passing=0 end
local added=hits*((ARGV[4]=='1' or hits<0) and calls or passing)
local packed,last='',0
for k=1,#s,${CELL_NUMBERS} do
 local i=5+(k-1)/${CELL_NUMBERS}*4
 local window,kind,used,before=ARGV[i],ARGV[i+3],s[k+1]+added,s[k+2]
 local whole
 if kind=='${TOKEN_BUCKET}' then
  if used<0 then used=0 end
  whole=now+used*window/math.max(1,ARGV[i+1])
  if whole>before then before,expires=whole+${EXPIRY_STEP_MS},true end
  whole=before-${EXPIRY_STEP_MS}
 else
  if used<0 then before,used=math.max(0,before+used),0 end
  whole=s[k]+window
  if kind=='${SLIDING_WINDOW}' then whole=whole+window end
 end
 if whole>last then last=whole end
 packed=packed..struct.pack('<ddd',s[k],used,before)
end
if added~=0 and (stored or hits>0) then
 if expires then
  local rest=math.min(math.max(0,last-now)/1000,${WINDOW_MAX_SECONDS})
  redis.call('SET',KEYS[1],packed,'EX',math.floor(rest)+${SLACK_SECONDS + EXPIRY_STEP_MS / 1000})
 else
  redis.call('SET',KEYS[1],packed,'KEEPTTL')
 end
end
return struct.pack('<dd',passing,taken)..packed`.trim();

const DIGEST = createHash("sha1").update(SCRIPT).digest("hex");

const EVAL = `$4\r\neval\r\n${textArgument(SCRIPT)}`;
const EVALSHA = `$7\r\nevalsha\r\n${textArgument(DIGEST)}`;

/** Arguments before those of the limits. */
const FIXED_ARGUMENTS = 8;
const LIMIT_ARGUMENTS = 4;

/** The parts of a call of the script. */
export interface CellCommand {
  readonly key: string;
  /** Of the key in UTF-8. */
  readonly keyBytes: number;
  readonly rule: CellRule;
  readonly nowMs: number;
  /** True if the server's clock counts instead, and the answer has its time. */
  readonly takesTime: boolean;
  /** Hits of each call. */
  readonly hits: number;
  readonly calls: number;
  /** True if the text is sent: the server may not know the script. */
  readonly sendsText: boolean;
}

/** The command in RESP. */
export function cellCommand(command: CellCommand): string {
  const { key, keyBytes, rule, nowMs, takesTime, hits, calls, sendsText } = command;
  const { head, tail } = partsOf(rule);
  return (
    `${head}${sendsText ? EVAL : EVALSHA}$1\r\n1\r\n$${keyBytes}\r\n${key}\r\n` +
    `${numberArgument(takesTime ? -nowMs : nowMs)}${numberArgument(hits)}${numberArgument(calls)}` +
    (tail ?? ruleArguments(rule, nowMs))
  );
}

/** Arguments that are the same for all calls of a rule; the end is not when a limit has a calendar. */
interface RuleParts {
  readonly head: string;
  readonly tail: string | undefined;
}

const PARTS = new WeakMap<CellRule, RuleParts>();

function partsOf(rule: CellRule): RuleParts {
  return PARTS.getOrInsertComputed(rule, () => ({
    head: `*${FIXED_ARGUMENTS + LIMIT_ARGUMENTS * rule.limits.length}\r\n`,
    tail: rule.limits.some(({ calendar }) => calendar !== undefined) ? undefined : ruleArguments(rule, 0),
  }));
}

function ruleArguments({ limits, countsRejected }: CellRule, nowMs: number): string {
  const each = limits.map((limit) => {
    const { windowMs, capacity, algorithm, calendar } = limit;
    const hasEdges = algorithm === FIXED_WINDOW && calendar !== undefined;
    const kind = hasEdges ? cellWindowStartMs(limit, nowMs) : algorithm;
    return [windowMs, limit.limit.requestsPerUnit, capacity, kind].map(numberArgument).join("");
  });
  return textArgument(countsRejected ? "1" : "0") + each.join("");
}

/** The answer of the script. */
export interface CellAnswer {
  readonly passing: number;
  /** Milliseconds of the server; 0 when they were not taken. */
  readonly serverMs: number;
  readonly state: number[];
}

/** Memory in which the numbers of an answer are read. */
const BYTES = Buffer.alloc(8 * (2 + LIMITS_MAX * CELL_NUMBERS));
const NUMBERS = new Float64Array(BYTES.buffer, BYTES.byteOffset);

/** The answer, from a text with a character for each byte; undefined when it is none of such a rule. */
export function cellAnswerOf(text: string, { limits }: CellRule): CellAnswer | undefined {
  const numbers = limits.length * CELL_NUMBERS;
  if (text.length !== 8 * (2 + numbers)) return undefined;
  BYTES.write(text, "latin1");
  const state = new Array<number>(numbers);
  for (let index = 0; index < numbers; index++) state[index] = NUMBERS[2 + index] ?? 0;
  // The script keeps a number of its own there.
  for (const [index, { algorithm }] of limits.entries())
    if (algorithm === TOKEN_BUCKET) state[index * CELL_NUMBERS + 2] = 0;
  return { passing: NUMBERS[0] ?? 0, serverMs: NUMBERS[1] ?? 0, state };
}
