// NI2w: FIFOs behind uncached registers, as in the TMC CM-5 (isca96, Section 3).
//
//   SEND, a doubleword a store    ──► one packet ──────────► send port ──► flow control
//   RECEIVE, a doubleword a load  ◄── PACKETS packets ◄─ receive port ◄── flow control's buffers
//   RECEIVE_WINDOW, loads         ◄── the first WINDOW doublewords of what RECEIVE pops, which stay
//   STATUS                        ◄── room to send; whether a packet can be seen
//
// Registers and times are those of Narthex's model (interfaces/src/fifo). A packet leaves SEND_CYCLES
// after the store of its last doubleword. One that comes takes BLOCK_CYCLES for each of its BLOCKS
// into the FIFO's memory, however little of it is used, and can be seen RECEIVE_CYCLES later. Its
// buffer in the flow control stays occupied until its last doubleword is popped.
module ni2w #(
    parameter SEND_CYCLES = 4,
    parameter BLOCK_CYCLES = 15,
    parameter BLOCKS = 4,
    parameter RECEIVE_CYCLES = 30,
    parameter WINDOW = 1,    // doublewords of the receive FIFO's head that can be looked at
    parameter WORDS = 32,    // doublewords of a packet, header included: a power of two
    parameter PACKETS = 8    // packets in the receive FIFO: a power of two
) (
    input  wire        clock,
    input  wire        reset,

    input  wire        register_valid,
    input  wire        register_write,
    input  wire [11:0] register_address,
    input  wire [63:0] register_write_data,
    output wire        register_ready,
    output reg  [63:0] register_read_data,
    output reg         register_fault,

    output wire        send_valid,
    output wire [63:0] send_data,
    output wire        send_last,
    input  wire        send_ready,
    input  wire        send_room,

    input  wire        receive_valid,
    input  wire [63:0] receive_data,
    input  wire        receive_last,
    output wire        receive_ready,
    output wire        receive_done,

    output wire        quiet
);
    localparam STATUS = 12'h000;
    localparam SEND = 12'h008;
    localparam RECEIVE = 12'h010;
    localparam RECEIVE_WINDOW = 12'h100;

    localparam WORD = $clog2(WORDS);
    localparam PACKET = $clog2(PACKETS);
    localparam DEPOSIT_CYCLES = BLOCK_CYCLES * BLOCKS;

    wire store_to_send = register_valid & register_write & register_address == SEND;
    wire load_of_receive = register_valid & ~register_write & register_address == RECEIVE;
    assign register_ready = register_valid;

    // --- sending: words go to the send port as they come, the last one when its time has come ------

    reg [63:0] sent_words [0:WORDS-1];
    reg [WORD:0] written, sent, length;
    reg whole;
    reg [15:0] send_wait;

    // A header has the bytes of its packet's payload in bits 16 to 23.
    wire [8:0] payload_words = ({1'b0, register_write_data[23:16]} + 9'd7) >> 3;
    wire [WORD:0] words_of_packet = written == 0 ? payload_words[WORD:0] + 1'b1 : length;
    wire push = store_to_send & ~whole;
    wire has_word = sent != written;

    assign send_last = whole & sent + 1'b1 == written;
    assign send_valid = has_word & (~send_last | send_wait == 0);
    assign send_data = sent_words[sent[WORD-1:0]];

    always @(posedge clock) begin
        if (push) sent_words[written[WORD-1:0]] <= register_write_data;
        if (reset) begin
            written <= 0;
            sent <= 0;
            length <= 0;
            whole <= 0;
            send_wait <= 0;
        end else begin
            if (push) begin
                written <= written + 1'b1;
                length <= words_of_packet;
                whole <= written + 1'b1 == words_of_packet;
                send_wait <= SEND_CYCLES - 2;
            end else if (whole & send_wait != 0) begin
                send_wait <= send_wait - 1'b1;
            end
            if (send_valid & send_ready) begin
                sent <= sent + 1'b1;
                if (send_last) begin
                    sent <= 0;
                    written <= 0;
                    whole <= 0;
                end
            end
        end
    end

    // --- receiving: packets are deposited one after the other --------------------------------------

    reg [63:0] received_words [0:WORDS*PACKETS-1];
    reg [WORD:0] length_of [0:PACKETS-1];
    reg [PACKET:0] deposited, seen, popped_packets;
    reg [WORD:0] deposited_words, popped;
    reg whole_deposit;
    reg [15:0] deposit_time;
    // When each packet can be seen: cycles that are left.
    reg [15:0] until_seen [0:PACKETS-1];

    // As wide as the counters, which wrap: a comparison with a parameter would widen the difference.
    wire [PACKET:0] held = deposited - popped_packets;
    wire full = held == PACKETS;
    wire deposits = receive_valid & ~full & ~whole_deposit;
    wire deposit_begins = deposits & deposited_words == 0;
    wire deposit_is_busy = deposited_words != 0 | whole_deposit;
    wire deposit_ends = deposit_is_busy & deposit_time == 0 & (whole_deposit | deposits & receive_last);
    assign receive_ready = ~full & ~whole_deposit;

    wire can_pop = seen != popped_packets;
    wire [PACKET-1:0] head = popped_packets[PACKET-1:0];
    wire is_window = register_address >= RECEIVE_WINDOW & register_address < RECEIVE_WINDOW + 8 * WINDOW;
    wire [WORD:0] looked = popped + (is_window ? register_address[WORD+2:3] : {WORD{1'b0}});
    wire [63:0] head_word = looked < length_of[head] ? received_words[{head, looked[WORD-1:0]}] : 64'd0;
    wire pop = load_of_receive & can_pop;
    wire last_pop = pop & popped + 1'b1 == length_of[head];
    assign receive_done = last_pop;

    wire waits_to_be_seen = seen != deposited;
    wire is_seen = waits_to_be_seen & until_seen[seen[PACKET-1:0]] == 0;

    integer packet;
    always @(posedge clock) begin
        if (deposits)
            received_words[{deposited[PACKET-1:0], deposited_words[WORD-1:0]}] <= receive_data;
        if (deposits & receive_last)
            length_of[deposited[PACKET-1:0]] <= deposited_words + 1'b1;
        if (reset) begin
            deposited <= 0;
            seen <= 0;
            popped_packets <= 0;
            deposited_words <= 0;
            popped <= 0;
            whole_deposit <= 0;
            deposit_time <= 0;
            for (packet = 0; packet < PACKETS; packet = packet + 1) until_seen[packet] <= 0;
        end else begin
            for (packet = 0; packet < PACKETS; packet = packet + 1)
                if (until_seen[packet] != 0) until_seen[packet] <= until_seen[packet] - 1'b1;
            if (deposits) begin
                deposited_words <= deposited_words + 1'b1;
                if (receive_last) whole_deposit <= 1;
            end
            if (deposit_begins) deposit_time <= DEPOSIT_CYCLES - 2;
            else if (deposit_time != 0) deposit_time <= deposit_time - 1'b1;
            if (deposit_ends) begin
                deposited <= deposited + 1'b1;
                deposited_words <= 0;
                whole_deposit <= 0;
                until_seen[deposited[PACKET-1:0]] <= RECEIVE_CYCLES - 1;
            end
            if (is_seen) seen <= seen + 1'b1;
            if (pop) popped <= last_pop ? 0 : popped + 1'b1;
            if (last_pop) popped_packets <= popped_packets + 1'b1;
        end
    end

    // --- registers ---------------------------------------------------------------------------------

    always @* begin
        register_read_data = 64'd0;
        register_fault = 1'b0;
        if (register_write) begin
            // A store while STATUS shows no room.
            register_fault = register_address != SEND | whole;
        end else begin
            if (register_address == STATUS) register_read_data = {62'd0, can_pop, ~whole & send_room};
            else begin
                register_read_data = head_word;
                // A load while STATUS shows no packet.
                register_fault = ~can_pop | ~(is_window | register_address == RECEIVE);
            end
        end
    end

    // A word that waits for the last of its packet, or for the processor, waits without an edge.
    assign quiet = ~(send_valid & send_ready) & ~(whole & send_wait != 0)
        & ~deposits & ~deposit_is_busy & ~waits_to_be_seen & ~register_valid & ~reset;
endmodule
