/** The frame of every page: navigation, the person's session, and the page. */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Role } from "@sluice/proto/lib/policy/role.js";
import { type Session, hasRole, signOut } from "../api/session.ts";
import { Icon, type IconName, Logo } from "../parts/icon.tsx";
import { ThemeButton } from "./theme-button.tsx";

interface Place {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Role required for the page to be of use. */
  readonly needs?: Role;
}

const groups: readonly (readonly [title: string, places: readonly Place[]])[] = [
  [
    "See",
    [
      { path: "/console", name: "Overview", icon: "overview" },
      { path: "/console/usage", name: "Usage", icon: "usage" },
      { path: "/console/calls", name: "Calls", icon: "calls" },
      { path: "/console/live", name: "Live", icon: "live" },
    ],
  ],
  [
    "Steer",
    [
      { path: "/console/keys", name: "Keys", icon: "keys" },
      { path: "/console/guardrails", name: "Guardrails", icon: "guardrails" },
      { path: "/console/models", name: "Models", icon: "models" },
      { path: "/console/end-users", name: "End users", icon: "people" },
      { path: "/console/workspaces", name: "Workspaces", icon: "workspaces" },
      { path: "/console/audit", name: "Audit log", icon: "audit" },
    ],
  ],
  [
    "Try",
    [
      { path: "/console/playground", name: "Playground", icon: "playground", needs: "operator" },
      { path: "/console/reference", name: "API reference", icon: "reference" },
    ],
  ],
];

export function Shell({ session, children }: { session: Session; children: ComponentChildren }) {
  const { path } = useLocation();
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const visited = useRef(path);
  useEffect(() => {
    setOpen(false);
    // Moves the focus to a new page, for keyboards and screen readers.
    if (visited.current !== path) main.current?.focus();
    visited.current = path;
  }, [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the page
      </a>
      <header class="top-bar">
        <Brand />
        <button
          type="button"
          class="button plain icon-only"
          aria-label="Menu"
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} size={22} />
        </button>
      </header>
      <aside id="navigation" class={open ? "side-bar open" : "side-bar"} aria-label="Console">
        <Brand />
        <nav aria-label="Pages">
          {groups.map(([title, places]) => (
            <Group key={title} title={title} places={places} current={path} />
          ))}
        </nav>
        <Foot session={session} />
      </aside>
      <main class="main" id="main" ref={main} tabIndex={-1}>
        <div>{children}</div>
      </main>
    </div>
  );
}

const Brand = () => (
  <a class="brand" href="/console">
    <Logo /> Sluice
  </a>
);

const Group = ({ title, places, current }: { title: string; places: readonly Place[]; current: string }) => (
  <>
    <p class="nav-title">{title}</p>
    <ul class="nav">
      {places
        .filter(({ needs = "viewer" }) => hasRole(needs))
        .map(({ path, name, icon }) => (
          <li key={path}>
            <a href={path} aria-current={isAt(current, path) ? "page" : undefined}>
              <Icon name={icon} /> {name}
            </a>
          </li>
        ))}
    </ul>
  </>
);

const isAt = (current: string, path: string): boolean =>
  current === path || (path !== "/console" && current.startsWith(`${path}/`));

const Foot = ({ session: { key, person, role, workspace } }: { session: Session }) => (
  <div class="side-foot">
    <p class="who">
      <strong>{workspace.name}</strong>
      <span class="muted">{person === null ? key.name : `${person}, ${role}`}</span>
    </p>
    <div class="row">
      <ThemeButton />
      <button type="button" class="button small" onClick={() => void signOut()}>
        <Icon name="out" size={16} /> Sign out
      </button>
      <button
        type="button"
        class="button small plain"
        title={person === null ? "End all sessions of this key" : "End all your sessions"}
        onClick={() => void signOut(true)}
      >
        Sign out everywhere
      </button>
    </div>
  </div>
);
