/** Values by key, most of them alone with theirs: a set for each would take three times the memory of the values. */
export class Groups<Key, T> {
  readonly #groups = new Map<Key, T | Set<T>>()
  #size = 0

  /** The number of values. */
  get size(): number {
    return this.#size
  }

  /** A copy, in the order in which they were added. */
  get(key: Key): readonly T[] {
    const group = this.#groups.get(key)
    if (group === undefined) return []
    return group instanceof Set ? [...group] : [group]
  }

  countOf(key: Key): number {
    const group = this.#groups.get(key)
    return group instanceof Set ? group.size : Number(group !== undefined)
  }

  has(key: Key, value: T): boolean {
    const group = this.#groups.get(key)
    return group instanceof Set ? group.has(value) : group !== undefined && group === value
  }

  *values(): Generator<T> {
    for (const group of this.#groups.values()) {
      if (group instanceof Set) yield* group
      else yield group
    }
  }

  /** Values of the key, those that were added first. */
  firstOf(key: Key, limit: number): readonly T[] {
    const group = this.#groups.get(key)
    if (!(group instanceof Set)) return this.get(key)
    const first: T[] = []
    for (const value of group) {
      if (first.length === limit) break
      first.push(value)
    }
    return first
  }

  first(): T | undefined {
    const group = this.#groups.values().next().value
    return group instanceof Set ? group.values().next().value : group
  }

  add(key: Key, value: T): void {
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, value)
    else if (group instanceof Set) {
      if (group.has(value)) return
      group.add(value)
    } else if (group !== value) this.#groups.set(key, new Set([group, value]))
    else return
    this.#size++
  }

  remove(key: Key, value: T): void {
    const group = this.#groups.get(key)
    if (group instanceof Set) {
      if (!group.delete(value)) return
      const [left] = group
      if (group.size === 1 && left !== undefined) this.#groups.set(key, left)
    } else if (group === value) this.#groups.delete(key)
    else return
    this.#size--
  }
}
