/** What a devnet reports. */

export type DevnetFact =
  | { kind: 'devnet-history'; blocks: number; of: number }
  | { kind: 'devnet-started'; chain: 'new' | 'continued'; httpUrl: string; tip: number; tookMs: number }
  /** The chain of the last run can't be continued, so a new one is begun. */
  | { kind: 'devnet-state-unusable'; reason: string }
  | { kind: 'devnet-block-failed'; reason: string }
