/** Credits and keys. */
import { faultsIn } from '../plant.ts'

const METER = ['test/api/accounts/credits.test.ts']
const PERIOD = ['test/api/accounts/period.test.ts', ...METER]
const SHARES = ['test/api/accounts/shares.test.ts']

export const CREDITS = [
  ...faultsIn('api/accounts/credits.ts', METER, [
    ['a limit is passed by one credit', 'allowance.month)\n    return', 'allowance.month + 1)\n    return'],
    ['queries that run are not reserved', 'meter.holds.add(hold)', ''],
    [
      'a failed query keeps its reservation',
      'export function release(meter: Meter, hold: Hold): void {\n  meter.holds.delete(hold)',
      'export function release(meter: Meter, hold: Hold): void {\n  void [meter, hold]',
    ],
    [
      'a cost is that of the reservation',
      '{ credits: cost, calls: 0 }',
      '{ credits: hold.credits + 0 * cost, calls: 0 }',
    ],
    ['an older count of a peer replaces a newer one', 'credits: Math.max(credits, known?.credits ?? 0)', 'credits'],
    [
      'settled minutes are forgotten',
      'meter.others.before = { start, credits: before.credits + credits, calls: before.calls + calls }',
      'void [start, before]',
    ],
    [
      'peers do not count in the month',
      "if (window === 'minute' ? one.minute !== start : one.minute < start) continue",
      "if (window === 'month' || one.minute !== start) continue",
    ],
  ]),
  ...faultsIn('api/accounts/period.ts', PERIOD, [
    ['a month of 30 days has a 31st', 'Math.min(then.getUTCDate(), lastDay)', 'then.getUTCDate()'],
    [
      'a month begins on its first day',
      'if (start > now) return { start: monthsAfter(anchor, months - 1), end: start }',
      '',
    ],
  ]),
  ...faultsIn('api/accounts/shares.ts', SHARES, [
    ['a claim is valid for ever', 'return nowMs() - wroteAt <= VALID_MS', 'return nowMs() - wroteAt <= VALID_MS * 1e9'],
    ['a lower claim binds after it was written', 'share.granted = Math.min(share.granted, row.claimed)', ''],
    ['a process that is killed keeps its claims', 'const EXPIRE_MS = 8_000', 'const EXPIRE_MS = 8_000_000'],
  ]),
  ...faultsIn(
    'api/http/auth-throttle.ts',
    ['test/api/http/auth-throttle.test.ts'],
    [
      ['an address may fail without end', 'window.count += 1', ''],
      ['a window never ends', 'window !== undefined && window.until > now', 'window !== undefined'],
    ],
  ),
  ...faultsIn(
    'api/http/client-address.ts',
    ['test/api/http/client-address.test.ts'],
    [
      [
        'a client behind one proxy names its own address',
        '(_, hop) => hop < trusted.hops',
        '(_, hop) => hop <= trusted.hops',
      ],
      ['each address of a network counts by itself', 'address.parts.slice(0, 4)', 'address.parts.slice(0, 8)'],
    ],
  ),
]
