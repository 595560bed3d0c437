/** Hides what the person's role does not permit. The gateway refuses it in any case. */
import type { ComponentChildren } from "preact";
import { type Role, may } from "../api/session.ts";

export const Allowed = ({ to, children }: { to: Role; children: ComponentChildren }) =>
  may(to) ? <>{children}</> : null;
