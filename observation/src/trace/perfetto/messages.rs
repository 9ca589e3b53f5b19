//! The part of Perfetto's trace format that timelines use: messages and field
//! numbers of `perfetto_trace.proto` (protos/perfetto/trace in Perfetto's
//! sources). The format only ever grows, so a reader of any age finds these.

use prost::encoding::{WireType, encode_key};
use prost::{Message, Oneof};

/// A file: one packet after the other.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

impl Trace {
    /// Appends a packet to the bytes of a [`Trace`].
    pub fn append(packet: &TracePacket, bytes: &mut Vec<u8>) {
        encode_key(1, WireType::LengthDelimited, bytes);
        packet.encode_length_delimited(bytes).expect("a vector grows");
    }
}

/// The unit of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// When, in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Which writer's: names are interned for each.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Something happened.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that are numbers from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// Whether it needs interned names, or is the first that may use them.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A row of the picture.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

impl TracePacket {
    /// Names that were interned earlier are forgotten.
    pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
    /// It uses interned names.
    pub const NEEDS_INCREMENTAL_STATE: u32 = 2;
}

/// A row, or a group of rows.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The number of its group.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// There if it shows a number.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// In which order it shows its rows.
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place in that order.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
    /// What it shows.
    #[prost(string, optional, tag = "14")]
    pub description: Option<String>,
}

/// The order of a group's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum ChildOrdering {
    /// Not said.
    Unknown = 0,
    /// As `sibling_order_rank` says.
    Explicit = 3,
}

/// What a row of numbers counts.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// In words.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// Something that happens in a row.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// What there is to know about it.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Which kind it is.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its name's number.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its row.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The number that the row shows from here on.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Arrows that begin here or pass.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Not said.
    Unspecified = 0,
    /// A slice begins, in the one that is open.
    SliceBegin = 1,
    /// The innermost open slice ends.
    SliceEnd = 2,
    /// It has no length.
    Instant = 3,
    /// A number changes.
    Counter = 4,
}

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// The name's number.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// The value.
    #[prost(oneof = "Value", tags = "3, 7, 17")]
    pub value: Option<Value>,
}

/// The value of an annotation.
#[derive(Clone, Copy, PartialEq, Eq, Oneof)]
pub enum Value {
    /// A number.
    #[prost(uint64, tag = "3")]
    Uint(u64),
    /// An address.
    #[prost(uint64, tag = "7")]
    Pointer(u64),
    /// A text's number.
    #[prost(uint64, tag = "17")]
    StringIid(u64),
}

/// Names and their numbers.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<Name>,
    /// Of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<Name>,
    /// Of annotations' texts.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<Name>,
}

/// A name (or the bytes of a text) and its number, from 1 on.
#[derive(Clone, PartialEq, Message)]
pub struct Name {
    /// The number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
