"""Many chats of many turns on several replica processes, beside a bare loop that does the least."""
