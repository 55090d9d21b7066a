// The turns of one server until they are answered: the one that gathers checks, those that wait for
// a link, and those that were written. Sees to it that every call is answered in time. It writes
// nothing.
import { silenceError } from "../connection-errors.ts";
import type { StoreError } from "../store-error.ts";
import type { Link } from "./link.ts";
import { Turn, type TurnContext } from "./turn.ts";

/**
 * The part of the time of a call for which a server may at least be silent, however long the call
 * had waited before it was written.
 */
const SILENCE_SHARE = 0.5;

/** A turn that was written and has no replies yet. */
export interface Flight {
  readonly turn: Turn;
  readonly link: Link;
  /** In milliseconds since the epoch. */
  readonly writtenMs: number;
}

/** What it works with. */
export interface PendingTurnsDeps {
  readonly clock: () => number;
  readonly context: TurnContext;
  /** The server for messages. */
  readonly text: () => string;
  /** Why no link is ready. */
  readonly absence: () => StoreError;
  /** Ends the connection of a link that is silent. */
  readonly reset: (link: Link, error: StoreError) => void;
}

/** Everything on its way to a server. */
export class PendingTurns {
  readonly #deps: PendingTurnsDeps;
  readonly #timeoutMs: number;
  #open: Turn | undefined;
  /** Turns that are over and wait for a link, oldest first. */
  #waiting: Turn[] = [];
  #waitingChecks = 0;
  readonly #flights = new Set<Flight>();
  #timer: NodeJS.Timeout | undefined;
  /** The moment the timer is set for, in milliseconds since the epoch. */
  #timerMs = Infinity;

  /** `timeoutMs` is how long a call may take. */
  constructor(deps: PendingTurnsDeps, options: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
  }

  /** Checks that wait for a link. */
  get waitingChecks(): number {
    return this.#waitingChecks;
  }

  /** The turn that gathers checks now. `noteAdded` must follow each addition. */
  gathering(nowMs: number): Turn {
    return (this.#open ??= new Turn(nowMs, this.#timeoutMs));
  }

  /** Looks to the deadlines of a turn to which something was added. */
  noteAdded(turn: Turn): void {
    if (turn.nextDeadlineMs < this.#timerMs) this.#setTimer(turn.nextDeadlineMs);
  }

  /** Lets a turn wait for a link. */
  wait(turn: Turn): void {
    this.#waiting.push(turn);
    this.#waitingChecks += turn.size;
    this.noteAdded(turn);
  }

  /** Ends the turn that gathers checks; it waits for a link now. */
  endGathering(): void {
    if (this.#open === undefined) return;
    this.#waiting.push(this.#open);
    this.#waitingChecks += this.#open.size;
    this.#open = undefined;
  }

  /** Hands over what waits, to be written. */
  takeWaiting(): readonly Turn[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingChecks = 0;
    return waiting;
  }

  /** Notes that a turn is being written. */
  depart(turn: Turn, link: Link): Flight {
    const flight = { turn, link, writtenMs: this.#deps.clock() };
    this.#flights.add(flight);
    return flight;
  }

  /** Notes that the replies are there; false when the flight was given up before. */
  land(flight: Flight): boolean {
    return this.#flights.delete(flight);
  }

  /** Fails what was written to a link that is lost. */
  failLink(link: Link, error: StoreError): void {
    for (const flight of this.#flights) {
      if (flight.link !== link) continue;
      this.#flights.delete(flight);
      flight.turn.fail(error, this.#deps.context);
    }
  }

  /** Fails everything, for good. */
  failAll(error: StoreError): void {
    clearTimeout(this.#timer);
    this.#timerMs = Infinity;
    for (const turn of this.#turns()) turn.fail(error, this.#deps.context);
    this.#open = undefined;
    this.#waiting = [];
    this.#waitingChecks = 0;
    this.#flights.clear();
  }

  #setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => this.#giveUp(), Math.max(0, atMs - this.#deps.clock()));
  }

  /**
   * Answers the calls whose time is up, ends connections that are silent, and sets the timer anew.
   */
  #giveUp(): void {
    this.#timerMs = Infinity;
    const nowMs = this.#deps.clock();
    // A clock that stepped back says nothing about how long a turn has waited; the timer does:
    // nobody waits for the clock to catch up.
    const isPast = (sinceMs: number): boolean => nowMs >= sinceMs + this.#timeoutMs || nowMs < sinceMs;
    let next = this.#giveUpFlights(nowMs, isPast);
    this.#giveUpWaiting(isPast);
    for (const turn of this.#turns()) {
      if (isPast(turn.createdMs)) continue; // A flight whose calls are answered.
      turn.failImpatient(nowMs, this.#timeoutMs, this.#deps.text());
      if (turn.nextDeadlineMs < next) next = turn.nextDeadlineMs;
    }
    // A caller that was answered here may have come again at once, and have set it.
    if (next < this.#timerMs) this.#setTimer(next);
  }

  /** Gives the next moment at which a server has been silent for too long. */
  #giveUpFlights(nowMs: number, isPast: (sinceMs: number) => boolean): number {
    let next = Infinity;
    for (const flight of this.#flights) {
      if (!isPast(flight.turn.createdMs)) continue;
      const error = silenceError(this.#deps.text(), this.#timeoutMs);
      flight.turn.fail(error, this.#deps.context);
      const endOfPatienceMs = flight.writtenMs + this.#timeoutMs * SILENCE_SHARE;
      if (nowMs >= endOfPatienceMs || nowMs < flight.writtenMs) {
        this.#flights.delete(flight);
        // Its replies would come in the way of later ones; and a server that hangs is best left to
        // a new connection.
        this.#deps.reset(flight.link, error);
      } else {
        // Its calls had waited long before it was written: that is not the server's silence.
        next = Math.min(next, endOfPatienceMs);
      }
    }
    return next;
  }

  #giveUpWaiting(isPast: (sinceMs: number) => boolean): void {
    if (this.#open !== undefined && isPast(this.#open.createdMs)) this.endGathering();
    for (const turn of this.#waiting) if (isPast(turn.createdMs)) turn.fail(this.#deps.absence(), this.#deps.context);
    this.#waiting = this.#waiting.filter((turn) => !isPast(turn.createdMs));
    this.#waitingChecks = this.#waiting.reduce((sum, turn) => sum + turn.size, 0);
  }

  *#turns(): Generator<Turn> {
    if (this.#open !== undefined) yield this.#open;
    yield* this.#waiting;
    for (const { turn } of this.#flights) yield turn;
  }
}
