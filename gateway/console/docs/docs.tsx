/** The public API reference, outside the console. The reader types a key to try operations. */
import { signal } from "@preact/signals";
import { LocationProvider, Route, Router } from "preact-iso";
import { TextField } from "../parts/field.tsx";
import { Logo } from "../parts/icon.tsx";
import type { Caller } from "../reference/caller.ts";
import { ReferencePage } from "../reference/page.tsx";
import { ThemeButton } from "../shell/theme-button.tsx";

export const docsRoot = "/docs/api";

/** The typed key. It stays in memory for the life of the page and is never stored. */
const key = signal("");

const caller: Caller = {
  baseFor: () => "/api/v1",
  authorize: () => Promise.resolve(`Bearer ${key.value}`),
  explain: ({ manages }) =>
    `Runs with ${manages ? "a management key" : "an API key"}, which this page forgets when you leave it.`,
  Field: () => (
    <TextField label="Key" type="password" required value={key.value} onValue={(value) => (key.value = value)} />
  ),
};

const Reference = () => <ReferencePage root={docsRoot} caller={caller} />;

export const Docs = () => (
  <LocationProvider scope={docsRoot}>
    <div class="alone">
      <header class="alone-bar">
        <a class="brand" href="/docs/" target="_self">
          <Logo /> Sluice
        </a>
        <a href="/docs/" target="_self">
          Documentation
        </a>
        <ThemeButton />
      </header>
      <main class="main">
        <div>
          <Router>
            <Route path={`${docsRoot}/:id?`} component={Reference} />
            <Route default component={Reference} />
          </Router>
        </div>
      </main>
    </div>
  </LocationProvider>
);
