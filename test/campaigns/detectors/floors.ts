/** Minimum figures of the detectors: the measured values, less the effect of a few cases more or less. */
interface Floor {
  readonly precision: number;
  readonly recall: number;
}

export const minQuality: Readonly<Record<string, { readonly byHand: Floor; readonly generated: Floor }>> = {
  email: { byHand: { precision: 0.98, recall: 0.98 }, generated: { precision: 0.98, recall: 0.98 } },
  phone: { byHand: { precision: 0.97, recall: 0.97 }, generated: { precision: 0.98, recall: 0.94 } },
  ssn: { byHand: { precision: 0.96, recall: 0.96 }, generated: { precision: 0.97, recall: 0.97 } },
  "credit-card": { byHand: { precision: 0.96, recall: 0.98 }, generated: { precision: 0.97, recall: 0.98 } },
  "ip-address": { byHand: { precision: 0.97, recall: 0.98 }, generated: { precision: 0.97, recall: 0.98 } },
  secrets: { byHand: { precision: 0.97, recall: 0.98 }, generated: { precision: 0.97, recall: 0.97 } },
  "person-name": { byHand: { precision: 0.95, recall: 0.95 }, generated: { precision: 0.96, recall: 0.62 } },
  address: { byHand: { precision: 0.93, recall: 0.96 }, generated: { precision: 0.82, recall: 0.94 } },
  "regex-prompt-injection": { byHand: { precision: 0.95, recall: 0.96 }, generated: { precision: 0.97, recall: 0.56 } },
};
