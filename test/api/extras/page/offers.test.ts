import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type OfferSource, openOffers } from '../../../../api/extras/page/browser/offers.ts'

const MINUTE = 60_000
const LOOK_MS = 5_000

describe('the lists that stay open', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Times at which lists are asked for while the table is open, in minutes from its opening. */
  async function asked({ pauseMs, minutes }: { pauseMs: number | undefined; minutes: number }) {
    const times = { 'pools/top': [] as number[], 'pools/new': [] as number[] }
    let spent = 0
    const start = performance.now()
    const ask = async (what: keyof typeof times) => {
      times[what].push(Math.round((performance.now() - start) / MINUTE))
      return { body: { data: [] } }
    }
    const budget = { pauseMs: () => pauseMs, spend: (credits: number) => (spent += credits) }
    const source = { ask, budget } as unknown as OfferSource
    const offers = openOffers({
      source: () => source,
      tokens: { networks: [], tokens: [] },
      offer: () => undefined,
      note: () => undefined,
    })
    const { signal } = new AbortController()
    offers.renew('all', signal)
    for (let elapsed = 0; elapsed < minutes * MINUTE; elapsed += LOOK_MS) {
      await Promise.resolve()
      vi.advanceTimersByTime(LOOK_MS)
      offers.keep(signal)
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    }
    return { ...times, spent }
  }

  test('are read again each minute where credits are many', async () => {
    const { 'pools/top': top, 'pools/new': newest, spent } = await asked({ pauseMs: 1_000, minutes: 5 })
    expect(top.length).toBeGreaterThanOrEqual(4)
    expect(top.length).toBeLessThanOrEqual(6)
    expect(newest).toEqual(top)
    // The opening is the reader's own request.
    expect(spent).toBe(2 * (top.length - 1))
  })

  test('are read again once in 20 credits of the free plan, a credit in 260 s', async () => {
    const { 'pools/top': top, spent } = await asked({ pauseMs: 260_000, minutes: 200 })
    expect(top).toEqual([0, 87, 174])
    expect(spent).toBe(4)
  })

  test('are not read again where no credit is left', async () => {
    expect(await asked({ pauseMs: undefined, minutes: 30 })).toEqual({ 'pools/top': [0], 'pools/new': [0], spent: 0 })
  })
})
