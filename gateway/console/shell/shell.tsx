/** The frame of every page: navigation, the person's session, and the page. */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Session, signOut } from "../api/session.ts";
import { Icon, Logo } from "../parts/icon.tsx";
import { Palette } from "./palette.tsx";
import { type Place, isOpenTo, placeGroups } from "./places.ts";
import { ThemeButton } from "./theme-button.tsx";
import { WorkspaceSwitcher } from "./workspace-switcher.tsx";

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
        <Palette />
        <nav aria-label="Pages">
          {placeGroups.map(([title, places]) => (
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
      {places.filter(isOpenTo).map(({ path, name, icon }) => (
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

const Foot = ({ session }: { session: Session }) => (
  <div class="side-foot">
    <div class="who">
      <WorkspaceSwitcher session={session} />
      <span class="muted">{session.person === null ? session.key.name : `${session.person}, ${session.role}`}</span>
    </div>
    <a href="/docs/">Documentation</a>
    <div class="row">
      <ThemeButton />
      <button type="button" class="button small" onClick={() => void signOut()}>
        <Icon name="out" size={16} /> Sign out
      </button>
      <button
        type="button"
        class="button small plain"
        title={session.person === null ? "End all sessions of this key" : "End all your sessions"}
        onClick={() => void signOut(true)}
      >
        Sign out everywhere
      </button>
    </div>
  </div>
);
