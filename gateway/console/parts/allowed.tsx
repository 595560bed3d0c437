/** Hides what the person's role does not permit. The gateway refuses it in any case. */
import type { ComponentChildren } from "preact";
import type { Role } from "@sluice/proto/lib/policy/role.js";
import { hasRole } from "../api/session.ts";

export const RequireRole = ({ to, children }: { to: Role; children: ComponentChildren }) =>
  hasRole(to) ? <>{children}</> : null;
