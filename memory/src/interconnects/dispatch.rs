//! The interconnects of the build script's list as one type, [`Interconnect`](super::Interconnect), and what a
//! machine's file says of each as another, [`Part`](super::Part).
//!
//! Each method here hands on to the interconnect's own one, by a match: a step of an interconnect is among
//! what happens most often, and is no call through a table. A method that [`InterconnectModel`](super::InterconnectModel)
//! gets, and that others call, gets its line here.

/// Declares the enumeration of the interconnects that the build script found.
macro_rules! interconnects {
    ($($file:ident :: $name:ident),*) => {
        /// An interconnect of any kind.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "a node has few of them, and each step looks at one")]
        pub enum Interconnect {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::$name),)*
        }

        $(impl From<$file::$name> for Interconnect {
            fn from(interconnect: $file::$name) -> Self {
                Interconnect::$name(interconnect)
            }
        })*

        /// What a machine's file says of an interconnect: `[node.interconnects.NAME]`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Part {
            $(#[allow(missing_docs, reason = "the keys of the kind say it")] $name($file::Keys),)*
        }

        impl Part {
            /// Every kind, and what may sit on one.
            pub const KINDS: &'static [(&'static str, Admits)] =
                &[$(($file::$name::KIND, $file::$name::ADMITS)),*];

            /// What a machine's file calls it: `kind = "..."`.
            pub fn kind(&self) -> &'static str {
                match self { $(Part::$name(_) => $file::$name::KIND,)* }
            }

            /// What may sit on it.
            pub fn admits(&self) -> Admits {
                match self { $(Part::$name(_) => $file::$name::ADMITS,)* }
            }

            /// Its rules, and what is built from it.
            pub fn rules(&self) -> &dyn InterconnectKind {
                match self { $(Part::$name(keys) => keys,)* }
            }
        }

        impl Interconnect {
            /// What a machine's file calls it.
            pub fn kind(&self) -> &'static str {
                match self { $(Interconnect::$name(_) => $file::$name::KIND,)* }
            }

            /// Whether an agent that has issued a transaction waits for its block's home: see
            /// [`InterconnectModel::ASKS_HOMES`].
            #[inline]
            pub fn asks_homes(&self) -> bool {
                match self { $(Interconnect::$name(_) => $file::$name::ASKS_HOMES,)* }
            }

            /// Whether transactions of several agents are under way on it at once.
            pub fn overlaps(&self) -> bool {
                match self { $(Interconnect::$name(_) => $file::$name::OVERLAPS,)* }
            }

            /// Whether it posts accesses to registers: see [`InterconnectModel::POSTS_ACCESSES`].
            pub fn posts_accesses(&self) -> bool {
                match self { $(Interconnect::$name(_) => $file::$name::POSTS_ACCESSES,)* }
            }

            /// Why it refuses a device's address: see [`InterconnectModel::UNOWNED`].
            pub fn unowned(&self) -> &'static str {
                match self { $(Interconnect::$name(_) => $file::$name::UNOWNED,)* }
            }

            /// Itself, if it is a directory, whose messages the composition carries.
            pub fn as_directory(&self) -> Option<&directory::Directory> {
                match self { $(Interconnect::$name(own) => own.as_directory(),)* }
            }

            /// Itself, if it is a bus that a processor which is alone with it may have while it runs.
            #[inline(always)]
            pub fn as_direct_bus(&mut self) -> Option<&mut snooping_bus::SnoopingBus> {
                match self { $(Interconnect::$name(own) => own.as_direct_bus(),)* }
            }

            /// The cycles that an answer after this time takes on it, if it is such a bus.
            pub fn direct_cycles(&self, time: Duration) -> Option<u64> {
                match self { $(Interconnect::$name(own) => own.direct_cycles(time),)* }
            }

            /// The agents on it.
            #[inline]
            pub fn ports(&self) -> &AgentPorts {
                match self { $(Interconnect::$name(own) => own.ports(),)* }
            }

            /// The agents to which it may be granted now, if its clock were a free
            /// choice, of those that want it; none while it is occupied. `all` are
            /// the interconnects of its composition.
            pub fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
                match self { $(Interconnect::$name(own) => own.contenders(all, wants),)* }
            }

            /// The transaction that has it, as far as agents on it know.
            pub fn occupant(&self) -> Option<&Transaction> {
                match self { $(Interconnect::$name(own) => own.occupant(),)* }
            }

            /// The name in reports: "memory bus".
            pub fn name(&self) -> &'static str {
                match self { $(Interconnect::$name(own) => own.name(),)* }
            }

            /// The clock in whose cycles its occupancy is counted.
            pub fn occupancy_clock(&self) -> Clock {
                match self { $(Interconnect::$name(own) => own.occupancy_clock(),)* }
            }

            /// The clock at whose edges it is granted.
            pub fn clock(&self) -> Clock {
                match self { $(Interconnect::$name(own) => own.clock(),)* }
            }

            /// Whether no agent has it at `now`, or waits for it.
            pub fn is_idle_at(&self, now: Time) -> bool {
                match self { $(Interconnect::$name(own) => own.is_idle_at(now),)* }
            }

            /// The time from the grant of an uncached access to the first instant at which any
            /// part but its agent may notice it.
            pub fn shortest_access(&self) -> Duration {
                match self { $(Interconnect::$name(own) => own.shortest_access(),)* }
            }

            /// From the grant of any transaction on a block to its end, at least.
            pub fn shortest_block_transaction(&self) -> Duration {
                match self { $(Interconnect::$name(own) => own.shortest_block_transaction(),)* }
            }

            /// Its statistics, each with what is put in front of its names.
            pub fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
                match self { $(Interconnect::$name(own) => own.statistics(),)* }
            }

            /// The same, to add what was computed instead of simulated.
            pub fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
                match self { $(Interconnect::$name(own) => own.statistics_mut(),)* }
            }

            /// The newest bytes of a block that are on their way.
            pub fn peek(&self, block: u64) -> Option<&[u8]> {
                match self { $(Interconnect::$name(own) => own.peek(block),)* }
            }

            /// Replaces bytes at an address, inside a block that is on its way.
            pub fn poke(&mut self, address: u64, bytes: &[u8]) {
                match self { $(Interconnect::$name(own) => own.poke(address, bytes),)* }
            }

            /// The pages in this range are gone.
            pub fn discard(&mut self, range: &Range<u64>) {
                match self { $(Interconnect::$name(own) => own.discard(range),)* }
            }

            /// Since when the agent had waited to which it was granted last; none if agents do not wait
            /// for it.
            #[inline]
            pub fn granted_since(&self) -> Option<Time> {
                match self { $(Interconnect::$name(own) => own.granted_since(),)* }
            }

            /// Whether the bridge in front of it wants the interconnect above: see
            /// [`InterconnectModel::wants_above`].
            fn wants_above(&self) -> bool {
                match self { $(Interconnect::$name(own) => own.wants_above(),)* }
            }

            /// Whether it owns a block for a device behind it: see [`InterconnectModel::owns`].
            fn owns(&mut self, agent: AgentId, block: u64) -> bool {
                match self { $(Interconnect::$name(own) => own.owns(agent, block),)* }
            }

            /// The bridge in front of it; none if it is behind none.
            pub fn bridge(&self) -> Option<&Bridge> {
                match self { $(Interconnect::$name(own) => own.bridge(),)* }
            }

            /// The same, where there is one for certain.
            pub(crate) fn bridge_mut(&mut self) -> &mut Bridge {
                match self { $(Interconnect::$name(own) => own.bridge_mut(),)* }
            }

            /// Who answers for an address behind its bridge.
            pub(crate) fn home_behind(&self, address: u64) -> Home {
                match self { $(Interconnect::$name(own) => own.home_behind(address),)* }
            }

            /// A read that its bridge has put above is answered: see [`InterconnectModel::answer_from_above`].
            pub(crate) fn answer_from_above(
                &mut self, now: Time, read: &Transaction, answer: Answer,
            ) -> (Time, (Time, Time)) {
                match self { $(Interconnect::$name(own) => own.answer_from_above(now, read, answer),)* }
            }

            /// The transactions that were refused and not carried yet.
            pub fn refused(&self) -> &[Refused] {
                match self { $(Interconnect::$name(own) => own.refused(),)* }
            }

            /// The name of the message that a transaction becomes on it: see [`InterconnectModel::message`].
            pub fn message(&self, transaction: &Transaction) -> Option<&'static str> {
                match self { $(Interconnect::$name(own) => own.message(transaction),)* }
            }

            /// What it holds, for a run that gets nowhere; none if that says nothing.
            pub fn describe(&self) -> Option<String> {
                self.describe_in(&Numbers)
            }

            /// The same in these words.
            pub fn describe_in(&self, words: &dyn Words) -> Option<String> {
                match self { $(Interconnect::$name(own) => own.describe(words),)* }
            }

            /// Feeds what decides how it goes on to `hasher`.
            pub fn hash_state<H: Hasher>(&self, hasher: &mut H) {
                match self { $(Interconnect::$name(own) => own.hash_state(hasher),)* }
            }
        }

        impl Archived for Interconnect {
            fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
                match self { $(Interconnect::$name(own) => own.archive(archive),)* }
            }
        }

        /// Asks for an interconnect in an agent's name, if that needs it.
        #[inline]
        pub fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            if composition.agent(agent).wants(on) {
                request(composition, now, on, agent);
            }
        }

        /// Asks for an interconnect in the name of an agent that needs it.
        #[inline]
        pub fn request<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask(composition, now, on, agent),)*
            }
        }

        /// The same where the composition is doing nothing else: what is over before anything
        /// else happens may be done at once.
        #[inline]
        pub fn request_alone<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask_alone(composition, now, on, agent),)*
            }
        }

        /// Lets a step of an interconnect happen.
        pub fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::happen(composition, now, on, step),)*
            }
        }

        /// An agent's access, which is held, is answered: see [`InterconnectModel::answer`].
        pub fn answer<C: InterconnectHost>(
            composition: &mut C,
            at: Time,
            on: InterconnectId,
            access: (AgentId, TransactionTag),
            response: Response,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::answer(composition, at, on, access, response),)*
            }
        }

        /// A bridge is granted the interconnect above: see [`InterconnectModel::issue_above`].
        fn issue_above<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId,
        ) -> Option<Transaction> {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::issue_above(composition, now, on),)*
            }
        }

        /// The interconnect above is granted to a device behind a link: see [`InterconnectModel::issue_for`].
        fn issue_for<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId,
        ) -> Option<(Transaction, bool)> {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::issue_for(composition, now, on, agent),)*
            }
        }

        /// A directory forwards something to a device behind a link: see [`InterconnectModel::forward`].
        fn forward<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId, carried: Carried,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::forward(composition, now, on, agent, carried),)*
            }
        }

        /// A home behind a link is asked because of a request: see [`InterconnectModel::ask_home`].
        fn ask_home<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId, transaction: &Transaction,
        ) -> SnoopReply {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask_home(composition, now, on, agent, transaction),)*
            }
        }

        /// A home behind a link goes on with a request: see [`InterconnectModel::resume_home`].
        fn resume_home<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, block: u64) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::resume_home(composition, now, on, block),)*
            }
        }

        /// A home behind a link gets a block's bytes: see [`InterconnectModel::return_home`].
        fn return_home<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, agent: AgentId, transaction: Transaction,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::return_home(composition, now, on, agent, transaction),)*
            }
        }

        /// What a bridge has issued above is over: see [`InterconnectModel::complete_above`].
        fn complete_above<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::complete_above(composition, now, on, transaction, response),)*
            }
        }

        /// An access has come to a bridge from above: see [`InterconnectModel::access_from_above`].
        fn access_from_above<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, transaction: &Transaction,
        ) -> AccessReply {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::access_from_above(composition, now, on, transaction),)*
            }
        }

        /// Asks for an interconnect in the name of a bridge on it, before all agents that wait.
        pub(crate) fn request_first<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, bridge: AgentId,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::ask_first(composition, now, on, bridge),)*
            }
        }

        /// A bridge goes on with the interconnect above, which it has kept: see
        /// [`InterconnectModel::go_on_for_bridge`].
        pub(crate) fn go_on_for_bridge<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, behind: InterconnectId,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::go_on_for_bridge(composition, now, on, behind),)*
            }
        }

        /// What crosses a bridge is over above at `at`: see [`InterconnectModel::end_crossing_at`].
        pub(crate) fn end_crossing_at<C: InterconnectHost>(
            composition: &mut C,
            at: Time,
            on: InterconnectId,
            behind: InterconnectId,
            response: Option<Response>,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => {
                    $file::$name::end_crossing_at(composition, at, on, behind, response);
                })*
            }
        }

        /// A transaction has come to the bridge in front of an interconnect: see
        /// [`InterconnectModel::start_crossing`].
        pub(crate) fn start_crossing<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, transaction: &Transaction,
        ) -> Option<Duration> {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::start_crossing(composition, now, on, transaction),)*
            }
        }

        /// See [`InterconnectModel::go_on_crossing`].
        pub(crate) fn go_on_crossing<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::go_on_crossing(composition, now, on),)*
            }
        }

        /// A read of a bridge is over above: see [`InterconnectModel::end_read_above`].
        pub(crate) fn end_read_above<C: InterconnectHost>(
            composition: &mut C, now: Time, on: InterconnectId, read: &Transaction, response: &Response,
        ) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::end_read_above(composition, now, on, read, response),)*
            }
        }

        /// What a bridge has put above is over there: see [`InterconnectModel::end_above`].
        pub(crate) fn end_above<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::end_above(composition, now, on),)*
            }
        }

        /// Everything before `now` has happened, and the composition is looked at: what was
        /// answered early and is not over yet gets its step.
        pub fn settle<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::settle(composition, now, on),)*
            }
        }

        /// Grants an interconnect to an agent: to one of its contenders.
        pub fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
            match composition.interconnect(on) {
                $(Interconnect::$name(_) => $file::$name::grant_to(composition, now, on, agent),)*
            }
        }
    };
}
