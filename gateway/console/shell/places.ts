/** Pages of the console, as the navigation and the palette list them. */
import type { Role } from "@sluice/proto/lib/policy/role.js";
import { hasRole } from "../api/session.ts";
import type { IconName } from "../parts/icon.tsx";

export interface Place {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Role required for the page to be of use. */
  readonly needs?: Role;
}

export const placeGroups: readonly (readonly [title: string, places: readonly Place[]])[] = [
  [
    "Monitor",
    [
      { path: "/console", name: "Overview", icon: "overview" },
      { path: "/console/explorer", name: "Explorer", icon: "usage" },
      { path: "/console/sessions", name: "Sessions", icon: "calls" },
      { path: "/console/health", name: "Health", icon: "health" },
      { path: "/console/live", name: "Live", icon: "live" },
      { path: "/console/alerts", name: "Alerts", icon: "bell" },
    ],
  ],
  [
    "Manage",
    [
      { path: "/console/keys", name: "Keys", icon: "keys" },
      { path: "/console/guardrails", name: "Guardrails", icon: "guardrails" },
      { path: "/console/models", name: "Models", icon: "models" },
      { path: "/console/providers", name: "Providers", icon: "providers", needs: "admin" },
      { path: "/console/end-users", name: "End users", icon: "people" },
      { path: "/console/workspaces", name: "Workspaces", icon: "workspaces" },
      { path: "/console/audit", name: "Audit log", icon: "audit" },
    ],
  ],
  [
    "Develop",
    [
      { path: "/console/playground", name: "Playground", icon: "playground", needs: "operator" },
      { path: "/console/reference", name: "API reference", icon: "reference" },
    ],
  ],
];

export const isOpenTo = ({ needs = "viewer" }: Place): boolean => hasRole(needs);
