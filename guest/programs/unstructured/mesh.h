/* A node's part of a tetrahedral mesh that fills a box.
 *
 * A mesh's points are called vertices here, so that nodes are the machine's. A vertex belongs to
 * one node, its owner. A node's part has its own vertices, numbered from 0 in ascending order of
 * their numbers in the whole mesh, and behind them copies of the vertices that are joined to one
 * of those by an edge, its ghosts: owner by owner, each owner's in ascending order. So what an
 * owner sends to a node in ascending order lies there in one piece. */
#ifndef NARTHEX_UNSTRUCTURED_MESH_H
#define NARTHEX_UNSTRUCTURED_MESH_H

#include "partition.h"

/* Two vertices, and the area between their cells: a vector from a to b. */
struct edge {
    int a, b;
    vector area;
    vector reach; /* from a to b */
};

/* A triangle of the mesh's surface; a third of its outward area belongs to each vertex. */
struct face {
    int vertices[3];
    vector third;
};

/* Another node, with which vertices are shared. */
struct neighbour {
    int node;
    int sends;       /* own vertices that it has as ghosts ... */
    int *sent;       /* ... and which */
    int receives;    /* its vertices that are ghosts here ... */
    int first_ghost; /* ... and where they begin */
};

struct mesh {
    int own, vertices; /* own ones; with ghosts */
    int edges, faces;  /* that have an own vertex */
    int neighbours;
    vector *points;
    double *volumes; /* of own vertices' cells */
    struct edge *edge;
    struct face *face;
    struct neighbour *neighbour;
    int whole_vertices, whole_edges, whole_faces; /* of all nodes' parts together */
};

/* Makes this node's part of the mesh with sides[0] x sides[1] x sides[2] vertices. The arrays are
 * in the order of the whole mesh's, so that a sum over the edges or faces of a vertex has the same
 * order on every number of nodes. */
struct mesh mesh_make(const int sides[3]);

#endif
