/** Where in its work an aggregator stands, told from the statements that it sends. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const AGGREGATOR = join(import.meta.dirname, '../../aggregator')
const FILES = new Map(
  readdirSync(AGGREGATOR, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => [readFileSync(join(AGGREGATOR, file), 'utf8'), basename(file, '.sql')]),
)

/** Sent beside any step. */
const OF_PUBLISHING: ReadonlySet<string> = new Set([
  ...readdirSync(join(AGGREGATOR, 'extras/publish'))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => basename(file, '.sql')),
  ...['ask published', 'insert published', 'stored_pools', 'oldest_block'],
])

const OF_RESTATEMENTS: ReadonlySet<string> = new Set([
  'is_touched',
  'touched_between',
  'tombstone_unstated ticks',
  'older_times',
  'tombstone_unstated liquidity_changes',
  'insert coverage',
])

/** `start: ask owners`, `rollback: tombstone_rows ticks`, `flush: insert candles`, `restate: candles_from_candles 3600`. */
export type Place = string

/** The steps take turns, so that each is known by its first statement, and its end by its last; a restatement takes many turns. */
export type Places = {
  /** Undefined for the look for jobs that comes by the clock. */
  of(query: string, parameters: Readonly<Record<string, unknown>>): Place | undefined
  started(): void
}

export function placesOf(): Places {
  let step = 'start'
  return {
    started() {
      step = 'flush'
    },
    of(query, parameters) {
      const statement = nameOf(query, parameters)
      if (statement === 'ask jobs') return undefined
      // By the clock as well, beside any step; and before what is taken back.
      if (statement === 'insert settled') return `settle: ${statement}`
      if (OF_PUBLISHING.has(statement)) return `publish: ${statement}`
      // What a restatement alone asks, it may ask between the statements of another step.
      if (step !== 'start' && OF_RESTATEMENTS.has(statement)) {
        if (statement === 'is_touched') step = 'restate'
        else if (statement === 'insert coverage' && step === 'restate') step = 'flush'
        return `restate: ${statement}`
      }
      if (step !== 'start') {
        if (statement === 'tombstone_blocks') step = 'rollback'
        // A rollback that touched no pool has no changes to tell.
        else if (step === 'rollback' && /^insert (?!changes)|^open_candles|^pools_ahead/.test(statement)) step = 'flush'
        // The stream writes between the turns of a restatement.
        else if (step === 'restate' && statement === 'insert blocks') return `flush: ${statement}`
        else if (step === 'flush' && statement === 'ask liquidity_changes') return `restate: ${statement}`
      }
      const place = `${step}: ${statement}`
      if (place === 'rollback: insert changes') step = 'flush'
      return place
    },
  }
}

function nameOf(
  query: string,
  { resolution = '', table, tombstone, below }: Readonly<Record<string, unknown>>,
): string {
  // A condition may follow the text of the file.
  const file = [...FILES].find(([text]) => query.startsWith(text))?.[1]
  // One statement of a rollback and of an overwrite: only an overwrite has rows of its own version, above its tombstones.
  if (file === 'tombstone_rows') return `${tombstone === below ? file : 'tombstone_unstated'} ${table}`
  if (file) return `${file} ${resolution}`.trimEnd()
  const inserted = /^INSERT INTO (\w+)/.exec(query)?.[1]
  return inserted ? `insert ${inserted}` : `ask ${/FROM (\w+)/.exec(query)?.[1]}`
}
