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
 * KEYS[1]: the numbers of the cell, eight bytes each, in the order of CellState.
 * ARGV: 1 milliseconds since the epoch; 2 "1" to take those of the server instead; 3 hits of a call; 4 calls;
 * 5 "1" when rejected hits count; 6 seconds to keep the key once it is whole; 7 the format of the numbers; then for
 * each limit its window in milliseconds, requests, capacity, algorithm, and the start of the window if the calendar
 * knows it, else "".
 * Answers numbers of eight bytes: calls that pass, the milliseconds of the server (0 when not taken), and the cell after
 * the calls. In one text, which costs the server and this process less than a list.
 */
const SCRIPT = `
local now,hits,calls=ARGV[1]+0,ARGV[3]+0,ARGV[4]+0
local taken=0
if ARGV[2]=='1' then
 local t=redis.pcall('TIME')
 if t[1] then taken=t[1]*1000+math.floor(t[2]/1000) now=taken end
end
local stored=redis.call('GET',KEYS[1])
local s=stored and {struct.unpack(ARGV[7],stored)} or {}
local passing,limits=calls,(#ARGV-7)/5
for i=0,limits-1 do
 local a,k=8+i*5,1+i*${CELL_NUMBERS}
 local window,requests,room,kind=ARGV[a]+0,ARGV[a+1]+0,ARGV[a+2]+0,ARGV[a+3]
 local start=now-now%window
 if ARGV[a+4]~='' then start=ARGV[a+4]+0 end
 local time,used,before=s[k] or 0,s[k+1] or 0,s[k+2] or 0
 if time>now+${SKEW_MAX_MS}+2*window then time,used,before=start,0,0 end
 if kind=='${TOKEN_BUCKET}' then
  if time<now then used=math.max(0,used-(now-time)*requests/window) time=now end
 elseif time<start then
  before=kind=='${SLIDING_WINDOW}' and time==start-window and used or 0
  used,time=0,start
 end
 if kind=='${SLIDING_WINDOW}' then room=room-before*((window-math.max(0,now-time))/window) end
 room=room-used
 s[k],s[k+1],s[k+2]=time,used,before
 if hits>0 then passing=math.min(passing,math.floor((room+${TOLERANCE})/hits))
 elseif hits==0 and room<1-${TOLERANCE} then passing=0 end
end
passing=math.max(0,passing)
local added=hits*((ARGV[5]=='1' or hits<0) and calls or passing)
if added==0 or (hits<0 and not stored) then
 return struct.pack('<dd',passing,taken)..struct.pack(ARGV[7],unpack(s,1,limits*${CELL_NUMBERS}))
end
local rest=0
for i=0,limits-1 do
 local a,k=8+i*5,1+i*${CELL_NUMBERS}
 local window,requests,kind=ARGV[a]+0,ARGV[a+1]+0,ARGV[a+3]
 local sum=s[k+1]+added
 s[k+1]=math.max(0,sum)
 if sum<0 then s[k+2]=math.max(0,s[k+2]+sum) end
 local whole=s[k]+window-now
 if kind=='${SLIDING_WINDOW}' then whole=whole+window end
 if kind=='${TOKEN_BUCKET}' then whole=s[k+1]*window/math.max(1,requests) end
 rest=math.max(rest,whole)
end
local packed=struct.pack(ARGV[7],unpack(s,1,limits*${CELL_NUMBERS}))
redis.call('SET',KEYS[1],packed,'EX',math.floor(math.min(rest/1000,${WINDOW_MAX_SECONDS})+ARGV[6]))
return struct.pack('<dd',passing,taken)..packed`.trim();

const DIGEST = createHash("sha1").update(SCRIPT).digest("hex");

const EVAL = `$4\r\neval\r\n${textArgument(SCRIPT)}`;
const EVALSHA = `$7\r\nevalsha\r\n${textArgument(DIGEST)}`;

/** Arguments before those of the limits. */
const FIXED_ARGUMENTS = 11;
const LIMIT_ARGUMENTS = 5;

/** What a call of the script consists of. */
export interface CellCommand {
  readonly key: string;
  /** Of the key in UTF-8. */
  readonly keyBytes: number;
  readonly rule: CellRule;
  readonly nowMs: number;
  /** Whether the server's clock counts instead, and is answered. */
  readonly takesTime: boolean;
  /** Hits of each call. */
  readonly hits: number;
  readonly calls: number;
  /** Seconds that the key is kept once it is whole. */
  readonly slackSeconds: number;
  /** Whether the text is sent: the server may not know the script. */
  readonly sendsText: boolean;
}

const YES = textArgument("1");
const NO = textArgument("");

/** The command in RESP. */
export function cellCommand(command: CellCommand): string {
  const { key, keyBytes, rule, nowMs, takesTime, hits, calls, slackSeconds, sendsText } = command;
  const { head, tail } = partsOf(rule);
  return (
    `*${FIXED_ARGUMENTS + LIMIT_ARGUMENTS * rule.limits.length}\r\n${sendsText ? EVAL : EVALSHA}$1\r\n1\r\n` +
    `$${keyBytes}\r\n${key}\r\n${numberArgument(nowMs)}${takesTime ? YES : NO}${numberArgument(hits)}` +
    `${numberArgument(calls)}${head}${numberArgument(slackSeconds)}${tail ?? limitArguments(rule, nowMs)}`
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
    head: rule.countsRejected ? YES : NO,
    tail: rule.limits.some(({ calendar }) => calendar !== undefined) ? undefined : limitArguments(rule, 0),
  }));
}

function limitArguments({ limits }: CellRule, nowMs: number): string {
  const format = `<${"d".repeat(limits.length * CELL_NUMBERS)}`;
  const each = limits.map((limit) => {
    const { windowMs, capacity, algorithm, calendar } = limit;
    const start = algorithm === FIXED_WINDOW && calendar !== undefined ? String(cellWindowStartMs(limit, nowMs)) : "";
    const numbers = [windowMs, limit.limit.requestsPerUnit, capacity, algorithm].map(String);
    return [...numbers, start].map(textArgument).join("");
  });
  return textArgument(format) + each.join("");
}

/** What the script answers. */
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
  return { passing: NUMBERS[0] ?? 0, serverMs: NUMBERS[1] ?? 0, state };
}
