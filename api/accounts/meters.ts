/** The credit meters of the accounts that have called: each is loaded from the tables once, and again where rows of peers were missed. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { type Meter, openMeter } from './credits.ts'
import type { KeyHash } from './keys.ts'
import type { ShareRounds } from './share-rounds.ts'
import { openUsageBefore } from './usage-before.ts'
import type { UsageWriter } from './usage-writer.ts'

type MeteredKey = { hash: KeyHash; billingStart: UnixSeconds | undefined }

export type MeterTable = {
  /** The peers' counts in it are at most a second old. */
  load(key: MeteredKey): Promise<Meter>
  /** Without waiting; undefined before the first load. */
  loaded(key: MeteredKey): Meter | undefined
}

/** `era`: the rounds' count of missed rows at the time of the load; -1: not loaded. */
type MeterEntry = { meter: Meter; era: number; loaded: Promise<void> }

export function openMeterTable(options: {
  client: ClickHouseClient
  instance: string
  now: () => UnixSeconds
  shares: ShareRounds
  writer: UsageWriter
}): MeterTable {
  const { client, instance, now, shares, writer } = options
  const entries = new Map<KeyHash, MeterEntry>()
  const loadBefore = openUsageBefore(client, instance)
  return {
    async load({ hash, billingStart }) {
      const entry = entries.get(hash) ?? { meter: openMeter(billingStart), era: -1, loaded: Promise.resolve() }
      if (entry.era === -1) {
        entries.set(hash, entry)
        writer.watch(hash, entry.meter)
      }
      const era = await shares.refresh()
      if (entry.era !== era) {
        entry.era = era
        entry.loaded = loadBefore(hash, entry.meter, now()).then(() => shares.attach(hash, entry.meter))
        // The next call loads again.
        entry.loaded.catch(() => {
          entry.era = -1
        })
      }
      await entry.loaded
      return entry.meter
    },
    loaded: ({ hash }) => entries.get(hash)?.meter,
  }
}
