// NI64w+Udma: the FIFO of ni2w.v with user-level DMA in front of it, as in Princeton's SHRIMP
// (hpca98, Sections 2.2.1 and 4).
//
//   SEND_DMA, an address stored, then loads ──► reads a payload by bus requests, stores it to SEND
//   RECEIVE_DMA, the same                   ──► loads a payload from RECEIVE, writes it by requests
//   any other register                      ──► the FIFO's own
//
// Registers and times are those of Narthex's model (interfaces/src/models/ni_iw_udma.rs). A load
// starts what an address was stored for. The first request comes MASTER_CYCLES later, and each other
// one MEMORY_CYCLES after the block before it, which goes to or comes from the FIFO's memory
// meanwhile. Payloads begin at any byte. One engine serves both directions, one transfer at a time.
module ni64w_udma #(
    parameter SEND_CYCLES = 4,
    parameter BLOCK_CYCLES = 15,
    parameter BLOCKS = 4,
    parameter RECEIVE_CYCLES = 30,
    parameter MASTER_CYCLES = 11,
    parameter MEMORY_CYCLES = 15,
    parameter BLOCK_BYTES = 64    // of a coherence block: a power of two
) (
    input  wire        clock,
    input  wire        reset,

    input  wire        register_valid,
    input  wire        register_write,
    input  wire [11:0] register_address,
    input  wire [63:0] register_write_data,
    output wire        register_ready,
    output wire [63:0] register_read_data,
    output wire        register_fault,

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

    output wire        bus_valid,
    output wire        bus_write,
    output wire [63:0] bus_address,
    output wire [8:0]  bus_bytes,
    output wire [63:0] bus_data,
    input  wire        bus_ready,
    input  wire        bus_reply_valid,
    input  wire [63:0] bus_reply_data,
    input  wire        bus_reply_last,
    output wire        bus_reply_ready,

    output wire        quiet
);
    localparam SEND = 12'h008;
    localparam RECEIVE = 12'h010;
    localparam SEND_DMA = 12'h040;
    localparam RECEIVE_DMA = 12'h048;

    localparam PLACE = $clog2(BLOCK_BYTES);

    // --- the transfer --------------------------------------------------------------------------------

    reg named, busy, sends;
    reg [63:0] address;     // of the next block's part
    reg [8:0] left;         // bytes of the payload from there on
    reg [8:0] moved;        // bytes of this part that are past the bus port
    reg under_way;          // the request is whole, and not answered
    reg [15:0] pause;       // cycles until the next request may be whole
    reg flush;              // the last doubleword goes to the FIFO
    reg [63:0] held;        // bytes on their way between bus and FIFO, which have other boundaries
    reg [3:0] held_bytes;

    wire [8:0] to_end = BLOCK_BYTES - {{(9 - PLACE){1'b0}}, address[PLACE-1:0]};
    wire [8:0] part = left < to_end ? left : to_end;
    wire [8:0] rest = part - moved;
    wire [3:0] step = rest < 8 ? rest[3:0] : 4'd8;
    wire is_last_step = moved + {5'd0, step} == part;
    wire is_last_part = left == part;

    // What is still to be stored to SEND, and loaded from RECEIVE, of the present packets' payloads.
    reg [7:0] send_left, receive_left;
    wire [3:0] popped = receive_left < 8 ? receive_left[3:0] : 4'd8;

    wire [63:0] fifo_read_data;
    wire pops = held_bytes < step;
    wire [63:0] incoming = sends ? bus_reply_data : fifo_read_data;
    wire [127:0] joined = {64'd0, held} | (sends | pops ? {64'd0, incoming} << {held_bytes, 3'b000} : 128'd0);

    wire may_request = busy & ~under_way & left != 0;
    assign bus_valid = may_request & (pause == 0 | ~sends & ~is_last_step);
    assign bus_write = ~sends;
    assign bus_address = address;
    assign bus_bytes = part;
    assign bus_data = joined[63:0];
    assign bus_reply_ready = under_way;

    wire requests = bus_valid & bus_ready;
    wire replies = bus_reply_valid & under_way;
    wire ends_part = replies & bus_reply_last;
    wire ends_receive = ends_part & ~sends & is_last_part;
    wire ends_send = busy & sends & ~under_way & left == 0 & pause == 0;

    // A doubleword goes to the FIFO once more than it is there: the packet's last one waits.
    wire [4:0] sum = {1'b0, held_bytes} + {1'b0, step};
    wire stores_whole = replies & sends & sum > 8;
    wire fifo_store = flush | stores_whole;
    wire fifo_load = requests & ~sends & pops;

    // --- registers -----------------------------------------------------------------------------------

    wire is_send_dma = register_address == SEND_DMA;
    wire is_dma = is_send_dma | register_address == RECEIVE_DMA;
    wire names = register_valid & is_dma & register_write;
    wire is_named = named & sends == is_send_dma;
    wire [7:0] payload = is_send_dma ? send_left : receive_left;
    wire starts = register_valid & is_dma & ~register_write & is_named;
    wire is_shown_busy = is_named | busy & sends == is_send_dma & ~ends_receive;

    // The engine comes first at the FIFO: the processor's access then takes a cycle more.
    wire engine_has_fifo = fifo_store | fifo_load;
    wire is_disturbing = busy & (sends ? register_write & register_address == SEND
                                       : ~register_write & register_address == RECEIVE);
    wire fifo_fault;
    assign register_ready = register_valid & (is_dma | ~engine_has_fifo);
    assign register_read_data = is_dma ? {63'd0, is_shown_busy} : fifo_read_data;
    assign register_fault = is_dma ? register_write & busy | starts & payload == 0
                                   : fifo_fault | is_disturbing;

    wire fifo_valid = engine_has_fifo | register_valid & ~is_dma;
    wire fifo_write = fifo_store | ~fifo_load & register_write;
    wire [11:0] fifo_address = fifo_store ? SEND : fifo_load ? RECEIVE : register_address;
    wire [63:0] fifo_write_data = flush ? held : stores_whole ? joined[63:0] : register_write_data;
    wire fifo_quiet;

    ni2w #(
        .SEND_CYCLES(SEND_CYCLES),
        .BLOCK_CYCLES(BLOCK_CYCLES),
        .BLOCKS(BLOCKS),
        .RECEIVE_CYCLES(RECEIVE_CYCLES),
        .WINDOW(32)
    ) fifo (
        .clock(clock),
        .reset(reset),
        .register_valid(fifo_valid),
        .register_write(fifo_write),
        .register_address(fifo_address),
        .register_write_data(fifo_write_data),
        .register_ready(),
        .register_read_data(fifo_read_data),
        .register_fault(fifo_fault),
        .send_valid(send_valid),
        .send_data(send_data),
        .send_last(send_last),
        .send_ready(send_ready),
        .send_room(send_room),
        .receive_valid(receive_valid),
        .receive_data(receive_data),
        .receive_last(receive_last),
        .receive_ready(receive_ready),
        .receive_done(receive_done),
        .quiet(fifo_quiet)
    );

    always @(posedge clock) begin
        if (reset) begin
            named <= 0;
            busy <= 0;
            sends <= 0;
            address <= 0;
            left <= 0;
            moved <= 0;
            under_way <= 0;
            pause <= 0;
            flush <= 0;
            held <= 0;
            held_bytes <= 0;
            send_left <= 0;
            receive_left <= 0;
        end else begin
            flush <= 0;
            if (pause != 0) pause <= pause - 1'b1;
            if (names) begin
                named <= 1;
                sends <= is_send_dma;
                address <= register_write_data;
            end
            if (starts) begin
                named <= 0;
                busy <= 1;
                left <= {1'b0, payload};
                moved <= 0;
                held <= 0;
                held_bytes <= 0;
                pause <= MASTER_CYCLES - 2;
            end
            if (requests) begin
                under_way <= sends | is_last_step;
                if (~sends) begin
                    moved <= moved + {5'd0, step};
                    held <= joined >> {step, 3'b000};
                    held_bytes <= held_bytes + (pops ? popped : 4'd0) - step;
                end
            end
            if (replies & sends) begin
                moved <= moved + {5'd0, step};
                held <= stores_whole ? joined[127:64] : joined[63:0];
                held_bytes <= stores_whole ? sum - 5'd8 : sum[3:0];
                if (moved == 0) pause <= MEMORY_CYCLES - 2;
            end
            if (ends_part) begin
                under_way <= 0;
                moved <= 0;
                address <= address + {55'd0, part};
                left <= left - part;
                if (~sends) pause <= MEMORY_CYCLES - 2;
            end
            if (ends_receive) begin
                busy <= 0;
                pause <= 0;
            end
            if (ends_send) begin
                busy <= 0;
                flush <= 1;
            end
            if (fifo_valid & fifo_write & fifo_address == SEND)
                send_left <= send_left == 0 ? fifo_write_data[23:16] : send_left < 8 ? 0 : send_left - 4'd8;
            if (fifo_valid & ~fifo_write & fifo_address == RECEIVE)
                receive_left <= receive_left == 0 ? fifo_read_data[23:16] : receive_left - {4'd0, popped};
        end
    end

    // A request that is under way waits without an edge.
    assign quiet = fifo_quiet & ~register_valid & ~reset & ~flush & pause == 0 & ~requests
        & ~bus_reply_valid & ~ends_send;
endmodule
