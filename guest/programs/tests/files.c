/* Files as programs use them: input, what they are given, what they write, a pipe.
 *
 * It finds `mesh.dat` and the folder `tree`, and needs two processors a process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];

static void *read_pipe(void *argument) {
    char text[16] = {0};
    ssize_t bytes = read(ends[0], text, sizeof text);
    printf("pipe: %zd bytes, %s\n", bytes, text);
    return argument;
}

static void read_what_is_given(void) {
    char line[64];
    const char *home = getenv("HOME");
    printf("environment: %s, %s\n", getenv("WHO"), home ? home : "no home");
    while (fgets(line, sizeof line, stdin))
        printf("input: %s", line);
    FILE *mesh = fopen("mesh.dat", "r");
    if (!mesh)
        exit(3);
    int first = 0, second = 0;
    int read = fscanf(mesh, "%d %d", &first, &second);
    fseek(mesh, 0, SEEK_END);
    printf("mesh: %d numbers, sum %d, %ld bytes\n", read, first + second, ftell(mesh));
    const char *mapped = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fileno(mesh), 0);
    printf("mapped: %c\n", mapped[0]);
    fclose(mesh);
    DIR *tree = opendir("./tree");
    for (struct dirent *entry; (entry = readdir(tree));)
        printf("entry: %s %d\n", entry->d_name, entry->d_type);
    closedir(tree);
    struct stat status;
    stat("tree/deep/x", &status);
    printf("status: %lld bytes, mode %o\n", (long long)status.st_size, status.st_mode);
    FILE *hosts = fopen("/etc/passwd", "r");
    printf("host: %s\n", hosts ? "found" : strerror(errno));
}

static void write_files(void) {
    char line[64];
    mkdir("out", 0755);
    FILE *file = fopen("out/begun", "w");
    if (!file) {
        printf("output: %s\n", strerror(errno));
        return;
    }
    for (int number = 0; number < 100; number++)
        fprintf(file, "%d\n", number);
    fseek(file, 0, SEEK_SET);
    fputs("X", file);
    fclose(file);
    rename("out/begun", "out/result");
    file = fopen("out/result", "a+");
    fputs("end\n", file);
    rewind(file);
    int lines = 0;
    while (fgets(line, sizeof line, file))
        lines++;
    fclose(file);
    printf("output: %d lines\n", lines);
    freopen("out/messages", "w", stdout);
    printf("to a file\n");
}

int main(void) {
    pthread_t thread;
    read_what_is_given();
    if (pipe(ends) || pthread_create(&thread, 0, read_pipe, 0))
        return 4;
    usleep(20);
    if (write(ends[1], "hello", 5) != 5)
        return 5;
    pthread_join(thread, 0);
    write_files();
    return 0;
}
