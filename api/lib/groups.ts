/** Values by key, most of them alone with theirs: a set for each would take three times the memory of the values. */

export type ReadonlyGroups<T> = Pick<Groups<T>, 'get' | 'first' | 'some' | 'count' | 'keys'>

export class Groups<T> {
  readonly #groups = new Map<string, T | Set<T>>()

  /** A copy, in the order in which they were added. */
  get(key: string): readonly T[] {
    const group = this.#groups.get(key)
    if (group === undefined) return []
    return group instanceof Set ? [...group] : [group]
  }

  first(key: string): T | undefined {
    const group = this.#groups.get(key)
    return group instanceof Set ? group.values().next().value : group
  }

  some(key: string, isWanted: (value: T) => boolean): boolean {
    const group = this.#groups.get(key)
    if (!(group instanceof Set)) return group !== undefined && isWanted(group)
    for (const value of group) if (isWanted(value)) return true
    return false
  }

  count(key: string): number {
    const group = this.#groups.get(key)
    if (group === undefined) return 0
    return group instanceof Set ? group.size : 1
  }

  keys(): Iterable<string> {
    return this.#groups.keys()
  }

  add(key: string, value: T): void {
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, value)
    else if (group instanceof Set) group.add(value)
    else if (group !== value) this.#groups.set(key, new Set([group, value]))
  }

  remove(key: string, value: T): void {
    const group = this.#groups.get(key)
    if (group instanceof Set) {
      group.delete(value)
      const [left] = group
      if (group.size === 1 && left !== undefined) this.#groups.set(key, left)
    } else if (group === value) this.#groups.delete(key)
  }
}
