// Numbers and times as the views show them. Pure.

/** Counts per second. */
export function rateText(perSecond: number): string {
  if (perSecond > 0 && perSecond < 0.05) return "< 0.1";
  return perSecond >= 10 || perSecond === 0 ? countText(Math.round(perSecond)) : perSecond.toFixed(1);
}

/** A count, with spaces between thousands that do not break lines. */
export function countText(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** An upper bound of a response time. */
export function latencyText(ms: number | undefined): string {
  return ms === undefined ? "none" : `≤ ${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`;
}

/** Part of a whole, 0 to 1. */
export function shareText(share: number): string {
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`;
}

/** A time of the day, in UTC. */
export function timeText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(11, 19)} UTC`;
}

/** Since when something is; `isEarlier`: that is when it was first seen. */
export function sinceText({ seconds, isEarlier }: { readonly seconds: number; readonly isEarlier: boolean }): string {
  return `${isEarlier ? "before" : "since"} ${timeText(seconds)}`;
}

/** A date and time, in UTC. */
export function dateText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 10)} ${timeText(seconds)}`;
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}
