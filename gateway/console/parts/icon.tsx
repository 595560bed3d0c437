/** Icons, drawn on a grid of 20. */
const paths = {
  overview: "M3 10.5 10 4l7 6.500M5 9v7h10V9M8.5 16v-4h3v4",
  keys: "M12.5 11a4 4 0 1 0-3.6-2.300L3.5 14v2.500H6V15h1.500v-1.500H9l1.1-1.100A4 4 0 0 0 12.5 11ZM13.6 6.400v.01",
  guardrails: "M10 3 4 5.200v4.600c0 3.6 2.5 6 6 7.2 3.5-1.2 6-3.6 6-7.200V5.200L10 3ZM7.5 9.800l1.8 1.8 3.2-3.4",
  models: "M10 3 3.5 6.5 10 10l6.5-3.500L10 3ZM3.5 10 10 13.5 16.5 10M3.5 13.5 10 17l6.5-3.5",
  providers: "M4 4.500h12v4H4zM4 11.500h12v4H4zM6.500 6.500h.01M6.500 13.500h.01M10 6.500h4M10 13.500h4",
  people:
    "M7.5 9.500a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600ZM2.5 16c.4-2.7 2.3-4.2 5-4.200s4.6 1.5 5 4.200M13 4.200a2.7 2.7 0 0 1 0 5M14.5 12c1.7.5 2.7 1.9 3 4",
  playground:
    "M4 5.500h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1ZM6 8.500l2 1.7-2 1.700M10 12h3.5",
  reference:
    "M4 4.500h5a1.5 1.5 0 0 1 1 .5 1.5 1.5 0 0 1 1-.5h5v11h-5a1.5 1.5 0 0 0-1 .5 1.5 1.5 0 0 0-1-.5H4v-11ZM10 5v11",
  calls: "M3.5 5.500h13M3.5 10h13M3.5 14.500h8",
  live: "M3 10h3l2-5 4 10 2-5h3",
  health:
    "M10 16.500C6 13.500 3.500 11 3.500 8a3.300 3.300 0 0 1 6.500-1 3.300 3.300 0 0 1 6.500 1c0 3-2.500 5.500-6.500 8.500ZM6.500 9.500h2l1-2 1.500 4 1-2h1.500",
  usage: "M3.5 16.500h13M5.5 13.500v-4M9 13.500v-8M12.5 13.500v-5M16 13.500v-9",
  audit: "M5.5 3.500h6l3.5 3.500v9.500h-9.500v-13ZM11.5 3.500V7H15M8 10.500h4.500M8 13.300h4.5",
  bell: "M10 3.500a4.500 4.500 0 0 0-4.500 4.500v3.500L4 14h12l-1.500-2.500V8A4.500 4.500 0 0 0 10 3.500ZM8.500 16.500h3",
  workspaces: "M3.5 3.500h5v5h-5zM11.5 3.500h5v5h-5zM3.5 11.500h5v5h-5zM11.5 11.500h5v5h-5z",
  plus: "M10 4.500v11M4.5 10h11",
  copy: "M7.5 7.500h8v8h-8zM12.5 7.500v-3h-8v8h3",
  check: "M4.5 10.5 8.5 14.5 15.5 6",
  close: "M5 5l10 10M15 5 5 15",
  menu: "M3.5 6h13M3.5 10h13M3.5 14h13",
  out: "M8.5 4h-4v12h4M8 10h8.500M13.5 7l3 3-3 3",
  sun: "M10 6.500a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM10 2.500v1M10 16.500v1M2.5 10h1M16.5 10h1M4.7 4.700l.7.7M14.6 14.600l.7.7M4.7 15.300l.7-.7M14.6 5.400l.7-.7",
  moon: "M16 11.700A6.5 6.5 0 0 1 8.3 4 6.5 6.5 0 1 0 16 11.700Z",
  search: "M9 14.500a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l3.5 3.5",
  warning: "M10 4 2.8 16.500h14.400L10 4ZM10 8.800v3.400M10 14.300v.01",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  play: "M6.5 4.500v11l9-5.5-9-5.500Z",
  stop: "M6 6h8v8H6z",
  refresh: "M15.5 8A6 6 0 0 0 4.6 7.300M4.5 12a6 6 0 0 0 10.9.7M15.7 4.500V8h-3.500M4.3 15.500V12h3.5",
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }) => (
  <svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
);

/** The sign of Sluice: a gate above water. */
export const Logo = ({ size = 30 }: { size?: number }) => (
  <svg class="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path class="gate" d="M10.5 6.5h11v9h-11zM10.5 11h11M7.5 5v12M24.5 5v12" />
    <path class="water" d="M5.5 21c2.6-2 4.4-2 7 0s4.4 2 7 0 4.4-2 7 0M5.5 26c2.6-2 4.4-2 7 0s4.4 2 7 0 4.4-2 7 0" />
  </svg>
);
