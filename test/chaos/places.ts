/** Where in its work an aggregator stands, told from the statements that it sends. */
import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../../aggregator/sql/', import.meta.url)
const FILES = new Map(
  readdirSync(FOLDER).map((file) => [readFileSync(new URL(file, FOLDER), 'utf8'), file.replace('.sql', '')]),
)

/** `start: ask owners`, `rollback: bury_ticks`, `flush: insert candles`, `restate: candles_from_candles 3600`. */
export type Place = string

/** The steps take turns, so that each is known by its first statement, and its end by its last. */
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
      if (step !== 'start') {
        if (statement === 'bury_blocks') step = 'rollback'
        else if (statement === 'is_touched') step = 'restate'
        // A rollback that touched no pool has no changes to tell.
        else if (step === 'rollback' && /^insert (?!changes)/.test(statement)) step = 'flush'
      }
      const place = `${step}: ${statement}`
      if (place === 'rollback: insert changes' || place === 'restate: insert coverage') step = 'flush'
      return place
    },
  }
}

function nameOf(query: string, { resolution = '' }: Readonly<Record<string, unknown>>): string {
  const file = FILES.get(query)
  if (file) return `${file} ${resolution}`.trimEnd()
  const inserted = /^INSERT INTO (\w+)/.exec(query)?.[1]
  return inserted ? `insert ${inserted}` : `ask ${/FROM (\w+)/.exec(query)?.[1]}`
}
