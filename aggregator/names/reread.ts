/**
 * Reads the names of a few tokens again. Any contract can be a token and any node can be wrong: a new name counts once two readings agree, at
 * different final blocks and from different voices where there are several.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address, Client } from 'viem'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { BlockRef } from '../../ingest/model/message.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { readFinalAnswers } from '../../ingest/pools/final-answers.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints/endpoints.ts'
import { getHeads } from '../../ingest/rpc/rpc.ts'
import { namedTokens, storeNames } from '../store/stored-tokens.ts'
import { openDueTokens } from './due-tokens.ts'
import { NameClaims } from './name-claims.ts'

export type RereadOptions = {
  network: Network
  /** Where the tables themselves are: each has all names. */
  shards: readonly ClickHouseClient[]
  /** A token that was read rests for so long: six hours where absent. */
  restMs?: number
  /** A token that was renamed is not renamed again for so long: a day where absent. */
  renameRestMs?: number
  report: Report<IngestFact>
}

/** Reads the next few tokens; nothing where no block is final yet. May be repeated after a failure. */
export type RereadStep = () => Promise<void>

/** One step reads so many tokens at most, however many are stored: five reads each, in a few calls. */
const TOKENS_PER_STEP = 100
/** Tokens of a step whose new name waits for a second reading. */
const CLAIMS_PER_STEP = 60
const RENAME_REST_MS = 24 * 3_600_000
/** Tokens whose changed decimals were reported. */
const MAX_BLAMED = 1_000

export function createReread(client: ClickHouseClient, endpoints: Endpoints, options: RereadOptions): RereadStep {
  const { network, shards, restMs, renameRestMs = RENAME_REST_MS, report } = options
  const due = openDueTokens(client, network.name, restMs)
  const blamed = new Set<Address>()
  const claims = new NameClaims({
    voices: endpoints.voices,
    renameRestMs,
    onDecimals({ address, symbol, decimals }, answered) {
      if (blamed.has(address) || blamed.size >= MAX_BLAMED) return
      blamed.add(address)
      report({ kind: 'decimals-changed', network: network.name, token: address, symbol, decimals, answered })
    },
  })

  /** Judges the answers of these tokens, and stores each name that is certain. */
  async function reread(tokens: readonly Address[], final: BlockRef, notFirst?: Client): Promise<void> {
    if (tokens.length === 0) return
    const { client: node, answers } = await readFinalAnswers(endpoints, tokens, final, notFirst)
    const stored = await namedTokens(client, network.name, tokens)
    const renamed = stored.flatMap((one) => {
      const row = claims.judge(one, answers.get(one.token.address) ?? {}, { client: node, block: final.number })
      return row ? [{ row, from: one.token.symbol }] : []
    })
    if (renamed.length === 0) return
    await storeNames(
      shards,
      network.name,
      renamed.map(({ row }) => row),
    )
    for (const { row, from } of renamed) {
      const { address, symbol, block } = row
      report({ kind: 'token-renamed', network: network.name, token: address, from, to: symbol, block })
    }
  }

  return async function step() {
    const { final, isGuess } = await endpoints.run((node) => getHeads(node, endpoints.finality))
    if (!final || isGuess) return
    const waiting = claims.waiting(CLAIMS_PER_STEP)
    const next = (await due.next(TOKENS_PER_STEP - waiting.length)).filter((token) => !claims.has(token))
    await reread(
      waiting.map(([token]) => token),
      final,
      waiting[0]?.[1].client,
    )
    await reread(next, final)
    due.wereRead(next)
  }
}
