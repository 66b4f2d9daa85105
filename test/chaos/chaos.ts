/** One seed of the chaos: the story of a chain, told to processes that die one after the other, and in the end to one that lives. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { tell } from '../aggregator/listening.ts'
import { networkOf } from '../aggregator/running.ts'
import { type Random, randomOf } from '../simulation/random.ts'
import { arrayLog } from '../support/array-log.ts'
import { cleanRun } from './clean.ts'
import { DEATHS, type Doom, type Doomed, doomed } from './crash-client.ts'
import { PLACES } from './expected-places.ts'
import type { RoadKind, Roads } from './logs.ts'
import type { Place } from './places.ts'
import { type Kept, type Process, startProcess } from './process.ts'
import { tellStory } from './story.ts'

export type Crash = { place: Place; how: Doom['how'] }

export type Outcome = {
  seed: number
  network: NetworkName
  /** Told to one process that does not die, what it stores is what must be stored. */
  clean: NetworkName
  withRange: boolean
  crashes: Crash[]
  forks: number[]
  acts: Record<string, number>
}

const ACTS = ['grow', 'fork', 'replay', 'restate'] as const
type Act = (typeof ACTS)[number]

/** What brings a process to the places of a step. */
const ACT_OF: Readonly<Record<string, Act>> = { flush: 'grow', rollback: 'fork', restate: 'restate' }
const MOST_ACTS_A_LIFE = 12

/** The places that a seed comes to on purpose, one after the other. */
export function placeOf(seed: number, met = 0): Place | undefined {
  return PLACES[(seed * PLACES_A_SEED + met) % PLACES.length]
}
/** Where it does not come to others by chance before. Seeds begin at different ones, and all begin somewhere. */
const PLACES_A_SEED = 5

export async function runSeed(
  client: ClickHouseClient,
  seed: number,
  { lives, roads: kind, onSeen }: { lives: number; roads: RoadKind; onSeen(place: Place): void },
): Promise<Outcome> {
  const network = networkOf(`chaos-${seed}`)
  const withRange = seed % 2 === 0
  const random = randomOf(seed)
  const story = tellStory(network, random, { withRange })
  const outcome: Outcome = {
    seed,
    network,
    clean: networkOf(`clean-${seed}`),
    withRange,
    crashes: [],
    forks: [],
    acts: { grow: 0, fork: 0, replay: 0, restate: 0, restart: 0 },
  }
  // Two of three settle, and go back to that when they start; files are not lost here.
  const disk = kind.keeps || seed % 3 === 0 ? undefined : { sync: async () => {}, everyMs: 20 }
  const kept: Kept | undefined = kind.keeps ? { stream: 0, history: 0 } : undefined
  /** All that the log holds, for the listener, who asks what its end is. */
  const said = arrayLog()
  const stated: Restatement[] = []
  let unstored: Restatement[] = []
  let isOpened = false
  let met = 0

  /** Starts with what the listener and the jobs find to say then. */
  async function begin(roads: Roads, life: Doomed): Promise<Process> {
    const process = await startProcess({ network, roads, kept, disk, doomed: life })
    const append = process.append
    process.append = (messages) => {
      said.messages.push(...messages)
      return append(messages)
    }
    if (!isOpened) {
      isOpened = true
      await process.append(story.opening())
    } else {
      await tell(client, process, { network, chain: story.chain(), log: kept && said })
    }
    // A log that keeps them shows them by itself.
    await process.restate(kept ? [] : unstored)
    unstored = []
    return process
  }

  async function act(process: Process, kind: Act): Promise<void> {
    count(kind)
    if (kind === 'grow') return process.append(story.grow())
    if (kind === 'replay') return process.append(story.replay())
    if (kind === 'fork') {
      const { depth, messages } = story.fork()
      outcome.forks.push(depth)
      return process.append(messages)
    }
    const statements = story.restatement()
    stated.push(...statements)
    unstored = statements
    // Beside the stream, half of the time.
    const others = random.chance(0.5) ? [process.append(story.grow())] : []
    const done = await Promise.allSettled([process.restate(statements), ...others])
    for (const one of done) if (one.status === 'rejected') throw one.reason
    unstored = []
  }

  function count(kind: string): void {
    outcome.acts[kind] = (outcome.acts[kind] ?? 0) + 1
  }

  for (let life = 0; life <= lives; life++) {
    // By turns at a place of the list, until it is met, and after any number of statements.
    const target = life % 2 === 0 ? placeOf(seed, met) : undefined
    const doom = life < lives ? doomOf(target, random) : undefined
    const roads = await kind.open(network)
    const mortal = doomed(client, doom, onSeen)
    let process: Process | undefined
    try {
      process = await begin(roads, mortal)
      const leading = ACT_OF[doom?.place?.split(':')[0] ?? '']
      for (let acts = 0; doom && acts < MOST_ACTS_A_LIFE; acts++) {
        await act(process, leading && random.chance(0.7) ? leading : random.pick(ACTS))
      }
      if (doom) count('restart')
    } catch (error) {
      if (!mortal.death.aborted) throw error
    }
    const place = mortal.diedAt()
    const failure = await process?.stop()
    if (place && place === target) met++
    if (place && doom) outcome.crashes.push({ place, how: doom.how })
    else if (failure) throw failure
    await roads.close()
    // Nobody looks while the process is down.
    if (place && isOpened && random.chance(0.4)) outcome.forks.push(story.fork().depth)
  }
  await cleanRun(client, outcome.clean, story.chain(), stated)
  return outcome
}

function doomOf(place: Place | undefined, random: Random): Doom {
  const how = random.pick(DEATHS)
  return { how, place, orAfter: place === undefined ? random.between(0, 60) : random.between(60, 150) }
}
