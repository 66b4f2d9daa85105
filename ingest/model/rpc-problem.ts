/** Why a node did not answer, as every provider's words and codes are classified. */

export type RpcProblem =
  /** The answer would be too long: ask for fewer blocks. */
  | { kind: 'too-many-results'; suggested?: { from: number; to: number } }
  /** The endpoint never takes ranges this wide, however few logs they have. */
  | { kind: 'range-capped'; maxBlocks?: number }
  | { kind: 'rate-limited'; retryAfterMs?: number }
  /** It does not have the block yet. */
  | { kind: 'behind' }
  | { kind: 'timeout' }
  | { kind: 'unreachable' }
  /** Not JSON, or not of the shape that was asked for. */
  | { kind: 'malformed' }
  /** Well formed, but it cannot be true. */
  | { kind: 'contradictory' }
  /** It does not have blocks, logs or state that old any more; others may have them. */
  | { kind: 'pruned' }
  /** A filter has more addresses or topics than it takes: ask for fewer of them. */
  | { kind: 'too-many-values'; maxValues?: number }
  /** It lacks the method or the tag; others may have them. */
  | { kind: 'unsupported' }
  | { kind: 'refused' }
  /** The contract reverted: that is an answer, and it is the same everywhere. */
  | { kind: 'reverted' }

export type RpcProblemKind = RpcProblem['kind']
