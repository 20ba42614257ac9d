// The first and only process of the emulated machine: runs the programs that /tests names, one line of arguments each,
// with their output on the serial port, says how each ended, and switches off.

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { kArgumentsMax = 15 };

static int run(char* line)
{
    char* arguments[kArgumentsMax + 1] = {0};
    int count = 0;
    for (char* word = strtok(line, " "); word && count < kArgumentsMax; word = strtok(NULL, " "))
        arguments[count++] = word;
    const pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Bochs ends when this is written to the port.
static void switchOff(void)
{
    iopl(3);
    for (const char* letter = "Shutdown"; *letter; ++letter)
        outb((unsigned char)*letter, 0x8900);
    for (;;)
        pause();
}

int main(void)
{
    mount("proc", "/proc", "proc", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    const int serial = open("/dev/ttyS0", O_WRONLY);
    dup2(serial, STDOUT_FILENO);
    dup2(serial, STDERR_FILENO);
    FILE* const tests = fopen("/tests", "r");
    char line[512];
    while (tests && fgets(line, sizeof line, tests)) {
        line[strcspn(line, "\n")] = 0;
        char name[sizeof line];
        strcpy(name, line);
        const int code = run(line);
        dprintf(STDOUT_FILENO, "machine: %s ended with %d\n", name, code);
    }
    dprintf(STDOUT_FILENO, "machine: finished\n");
    tcdrain(STDOUT_FILENO);
    switchOff();
}
