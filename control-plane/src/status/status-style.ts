// How the status page looks, in light and in dark. Only system fonts: the page loads nothing.

/** The style sheet of the page. */
export const STATUS_STYLE = `
:root { color-scheme: light dark; --line: #d5dae0; --soft: #f5f7f9; --good: #17703f; --warning: #8a5700; --bad: #b3261e; --quiet: #566170; }
@media (prefers-color-scheme: dark) {
  :root { --line: #38414b; --soft: #1c2229; --good: #5fd39a; --warning: #f0b95a; --bad: #ff8f86; --quiet: #9aa6b2; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
header p, footer { color: var(--quiet); }
section { margin: 1.75rem 0; overflow-x: auto; }
section.alarm { border-left: 4px solid var(--bad); padding-left: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .45rem .75rem .45rem 0; text-align: left; vertical-align: top; }
th { color: var(--quiet); font-size: .85rem; font-weight: 600; }
/* Names come from outside, in any length and direction of writing: none may push the others away, or turn them round. */
td { min-width: 4.5rem; overflow-wrap: anywhere; }
td > div { max-width: 32rem; }
td b, td a, code, pre { unicode-bidi: isolate; }
.number { padding-right: 1.5rem; text-align: right; font-variant-numeric: tabular-nums; }
time { white-space: nowrap; }
code, pre { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--soft); margin: .3rem 0 0; padding: .4rem .6rem; white-space: pre-wrap; }
revision { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; margin: .75rem 0 0; }
input { font: inherit; border: 1px solid var(--line); border-radius: .3rem; padding: .15rem .4rem; width: 11rem; }
button { font: inherit; padding: .15rem .8rem; }
summary { cursor: pointer; font-size: .85rem; }
.summary .badge { font-size: .9rem; }
.badge { border: 1px solid currentcolor; border-radius: 1rem; font-size: .8rem; font-weight: 400; padding: .05rem .55rem; white-space: nowrap; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
@media (max-width: 44rem) {
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { border: 0; display: grid; grid-template-columns: 6rem minmax(0, 1fr); padding: .15rem 0; text-align: left; }
  td.number { text-align: left; }
  td .badge { border-radius: .6rem; white-space: normal; }
  td::before { color: var(--quiet); content: attr(data-heading); font-size: .85rem; }
}
`;
