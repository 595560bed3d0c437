/** How the page looks. Fonts are the reader's own. */
import { Html } from "./html.ts";

export const style = new Html(`
:root { color-scheme: light dark; --line: #8884; --quiet: #777; }
body { margin: 0; display: grid; grid-template-columns: 16rem minmax(0, 60rem); gap: 2rem; font: 1rem/1.5 system-ui, sans-serif; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); }
nav ul, .fields { list-style: none; padding-left: 0; }
main { padding: 1rem; }
section { border-top: 1px solid var(--line); scroll-margin-top: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow: auto; padding: .75rem; border: 1px solid var(--line); }
.fields { border-left: 2px solid var(--line); padding-left: 1rem; }
.fields li { margin: .5rem 0; }
.fields p { margin: 0; }
.name { font-weight: bold; }
.type, .limits { color: var(--quiet); }
.required { font-size: .8em; border: 1px solid var(--line); border-radius: .3em; padding: 0 .3em; }
.line { font-size: 1.1em; }
summary { cursor: pointer; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; border-right: 0; } }
`);
